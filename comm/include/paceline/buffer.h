// Memory that all ranks of a communicator on one host can read and write directly.
//
// Example:
//   paceline::Buffer buffer = paceline::Buffer::allocate(4000).value();
//   world.all_reduce(buffer.as<float>()).value();  // no copy through shared memory
//   std::vector<float, paceline::BufferAllocator<float>> weights(1000);
//
// An operation on ordinary memory copies the data into memory that the ranks share, and out again.
// If the arrays of all ranks lie in buffers, the operation reads and writes them in place. A long
// message is copied only once if the sender's array lies in a buffer. If the ranks of a
// communicator are on several hosts, all of them use TCP, and buffers are like ordinary memory.
//
// LIFETIME  A buffer belongs to the process, not to a communicator. It may exist before the first
//           communicator and after the last. A running operation keeps its buffers: freeing one is
//           refused, and the memory stays. After a failed operation, peers cannot write into the
//           buffer any more. It keeps its address and contents, and later operations copy it.
// FORK      After fork() a child sees buffers as private memory. It reads what the parent has
//           written, also later, until it writes to a page itself; its writes reach nobody. A child
//           that reads a consistent state, a checkpoint for example, must do so while the parent
//           does not write. It cannot allocate or free buffers before it executes a program. After
//           a clone() system call, access to a buffer ends the child with SIGSEGV.
// SIZE      Whole pages of 4 KiB: for tensors, not for single numbers. allocate() reserves the
//           memory before it returns. Up to 256 MiB of freed memory is kept for reuse.
#pragma once

#include <cstddef>
#include <new>
#include <span>
#include <utility>

#include <paceline/status.h>

namespace paceline {

/// Owns its memory. Move-only. Any thread may create, use and destroy buffers.
class Buffer {
 public:
  Buffer() = default;  ///< empty: owns no memory
  /// Allocates `bytes`, aligned to a page, with unspecified contents. Code::kExhausted: not enough
  /// memory on this host. Code::kUnavailable: no shared memory here (a sandbox may forbid it).
  /// Code::kInvalidArgument: a child, forked from a process that has buffers, cannot make any.
  static Result<Buffer> allocate(std::size_t bytes);
  Buffer(Buffer&& other) noexcept : memory_(std::exchange(other.memory_, {})) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(memory_, other.memory_);
    return *this;
  }
  ~Buffer();

  std::byte* data() const { return memory_.data(); }
  std::size_t size() const { return memory_.size(); }
  /// The memory as elements; bytes after the last whole element are left out.
  template <class T>
  std::span<T> as() const {
    return {reinterpret_cast<T*>(data()), size() / sizeof(T)};
  }

 private:
  explicit Buffer(std::span<std::byte> memory) : memory_(memory) {}
  std::span<std::byte> memory_;
};

/// Makes memory of another allocator, such as a framework's tensors, behave like a Buffer until the
/// Registration is destroyed. Addresses and contents stay the same. The pages are replaced: that
/// takes about as long as a copy, and needs the memory twice for that time. Move-only.
///
/// Until the registration ends, the memory stays mapped: the caller does not free, unmap or move
/// it, or call madvise() on it. Its pages are not pinned: no O_DIRECT, io_uring, RDMA or device
/// access. No thread writes the memory during make() or destruction: such writes may be lost. A
/// child that is forked while the memory is registered does not have it.
class Registration {
 public:
  /// Any thread. `memory` must be whole 4 KiB pages of private anonymous memory, such as mmap()
  /// returns, not a stack or a small malloc() block: else Code::kInvalidArgument. Other errors are
  /// those of Buffer::allocate(). After an error the memory is unchanged.
  static Result<Registration> make(std::span<std::byte> memory);
  Registration(Registration&& other) noexcept : memory_(std::exchange(other.memory_, {})) {}
  Registration& operator=(Registration&& other) noexcept {
    std::swap(memory_, other.memory_);
    return *this;
  }
  /// If a running operation uses the memory, it stays registered until the process ends.
  ~Registration();

 private:
  explicit Registration(std::span<std::byte> memory) : memory_(memory) {}
  std::span<std::byte> memory_;
};

/// An allocator for containers of the standard library. Throws std::bad_alloc.
template <class T>
struct BufferAllocator {
  using value_type = T;

  BufferAllocator() = default;
  template <class U>
  explicit(false) BufferAllocator(const BufferAllocator<U>& /*other*/) {}

  T* allocate(std::size_t count);
  void deallocate(T* memory, std::size_t count) noexcept;

  template <class U>
  bool operator==(const BufferAllocator<U>& /*other*/) const {
    return true;
  }
};

namespace detail {
/// Null if there is not enough memory.
void* allocate_buffer(std::size_t bytes) noexcept;
void free_buffer(void* memory) noexcept;
}  // namespace detail

template <class T>
T* BufferAllocator<T>::allocate(std::size_t count) {
  if (count > SIZE_MAX / sizeof(T)) throw std::bad_array_new_length();
  void* const memory = detail::allocate_buffer(count * sizeof(T));
  if (memory == nullptr) throw std::bad_alloc();
  return static_cast<T*>(memory);
}

template <class T>
void BufferAllocator<T>::deallocate(T* memory, std::size_t /*count*/) noexcept {
  detail::free_buffer(memory);
}

}  // namespace paceline
