// Memory that the ranks of one host reach directly.
//
//   paceline::Buffer gradients = paceline::Buffer::allocate(bytes).value();
//   world.all_reduce(gradients.as<float>()).value();       // nobody copies anything for another
//
//   std::vector<float, paceline::BufferAllocator<float>> weights(1000);
//
// An operation on ordinary memory goes through memory that the ranks share: it is copied in and
// out. What lies in buffers, on all ranks of a host, is read and written where it is; a long
// message is copied once where its sender's array does.
//
// LIFETIME  A buffer belongs to the process, not to a communicator: it may be made before the first
//           one and outlive the last. Freeing one that a running operation uses is refused, and its
//           memory stays. After an operation has failed, what peers may still be writing is no
//           longer part of what they reach: the buffer keeps its address and its contents, and
//           later operations on it go by copies.
// FORK      A child has no buffers: touching one there ends it with SIGSEGV. It can make none
//           before it executes a program.
// ELSEWHERE Memory that something else has allocated can be registered (Registration), where its
//           owner keeps what is said there.
// SIZE      Whole pages of 4 KiB: for tensors, not for numbers. Memory is there when allocate()
//           returns; what is freed is kept for the next, up to 256 MiB.
#pragma once

#include <cstddef>
#include <new>
#include <span>
#include <utility>

#include <paceline/status.h>

namespace paceline {

/// Move-only; frees its memory. Any thread.
class Buffer {
 public:
  Buffer() = default;  ///< has no memory
  /// `bytes` of unspecified contents, at the beginning of a page. Code::kExhausted where the host
  /// has no room, Code::kUnavailable where it has no such memory (a sandbox may forbid it).
  static Result<Buffer> allocate(std::size_t bytes);
  Buffer(Buffer&& other) noexcept : memory_(std::exchange(other.memory_, {})) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(memory_, other.memory_);
    return *this;
  }
  ~Buffer();

  std::byte* data() const { return memory_.data(); }
  std::size_t size() const { return memory_.size(); }
  /// As many elements as there is room for.
  template <class T>
  std::span<T> as() const {
    return {reinterpret_cast<T*>(data()), size() / sizeof(T)};
  }

 private:
  explicit Buffer(std::span<std::byte> memory) : memory_(memory) {}
  std::span<std::byte> memory_;
};

/// Makes memory that is not a Buffer's what a Buffer is, at the same addresses and with the same
/// contents, until it is destroyed: for a framework's tensors. Its pages are exchanged, which takes
/// about as long as copying them, and they are there twice meanwhile. Move-only.
///
/// Who registers memory promises that until the registration ends
///   - it stays mapped as it is: it is not freed, unmapped, advised away or moved;
///   - nothing has its pages pinned: no O_DIRECT, io_uring, RDMA or device reads or writes it;
/// and that nobody writes it while it is registered, or deregistered: what is written then may be
/// lost. A child that is forked meanwhile does not have it.
class Registration {
 public:
  /// Any thread. Whole pages of 4 KiB of private anonymous memory, such as mmap() gives, and
  /// neither the heap (a small malloc()) nor a stack; else Code::kInvalidArgument. Other errors as
  /// of Buffer::allocate(). After an error nothing has been done.
  static Result<Registration> make(std::span<std::byte> memory);
  Registration(Registration&& other) noexcept : memory_(std::exchange(other.memory_, {})) {}
  Registration& operator=(Registration&& other) noexcept {
    std::swap(memory_, other.memory_);
    return *this;
  }
  /// No operation may be using it: then it stays registered for ever.
  ~Registration();

 private:
  explicit Registration(std::span<std::byte> memory) : memory_(memory) {}
  std::span<std::byte> memory_;
};

/// For containers of the standard library. Throws std::bad_alloc.
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
/// Null where there is none.
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
