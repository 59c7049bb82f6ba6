// A library whose operations are measured: Paceline's own, a peer's, or a loop written by hand.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <paceline/status.h>
#include <paceline/types.h>

namespace paceline::probe {

/// `count` elements of `type`.
struct Elements {
  void* data = nullptr;
  std::size_t count = 0;
  DataType type = DataType::kFloat32;

  std::size_t bytes() const { return count * size_of(type); }
};

/// One call of an operation, which takes of it what it has. Where buffers lie in place: as
/// collectives/plan/shape.h says, and NCCL.
struct Call {
  OperationKind kind = OperationKind::kBarrier;
  const void* in = nullptr;
  void* out = nullptr;
  std::size_t count = 0;  ///< of the array, or of one block
  DataType type = DataType::kFloat32;
  ReduceOp op = ReduceOp::kSum;
  int root = 0;
};

/// One rank's end of it. One thread; every call is collective and blocks until it has ended.
class Subject {
 public:
  virtual ~Subject() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Memory for elements, at the beginning of a page; it lives as long as this. By default what any
  /// program has.
  virtual Result<std::byte*> allocate(std::size_t bytes) { return allocate_ordinary(bytes); }
  Result<std::byte*> allocate_ordinary(std::size_t bytes) {
    constexpr std::size_t kPage = 4096;
    const std::size_t whole = (bytes + kPage - 1) / kPage * kPage;
    memory_.emplace_back(static_cast<std::byte*>(std::aligned_alloc(kPage, whole)));
    if (memory_.back() != nullptr) return memory_.back().get();
    return Status(Code::kExhausted, Scope::kProcess,
                  "cannot allocate " + std::to_string(bytes) + " bytes");
  }

  /// False: the CPU cannot address memory of allocate(), and write() and read() copy to and from
  /// it.
  virtual bool is_addressable() const { return true; }
  virtual Status write(void* to, const void* from, std::size_t bytes) {
    std::memcpy(to, from, bytes);
    return Status();
  }
  virtual Status read(void* to, const void* from, std::size_t bytes) {
    std::memcpy(to, from, bytes);
    return Status();
  }

  /// Code::kInvalidArgument where this library does not have it.
  virtual Status call(const Call& call) = 0;

  Status barrier() { return call({}); }
  Status broadcast(Elements buffer, int root) {
    return call({.kind = OperationKind::kBroadcast,
                 .in = buffer.data,
                 .out = buffer.data,
                 .count = buffer.count,
                 .type = buffer.type,
                 .root = root});
  }
  Status all_reduce(const void* in, Elements out, ReduceOp op) {
    return call({.kind = OperationKind::kAllReduce,
                 .in = in,
                 .out = out.data,
                 .count = out.count,
                 .type = out.type,
                 .op = op});
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::vector<std::unique_ptr<std::byte, Free>> memory_;
};

/// What a library says that does not have it, or not so.
inline Status not_measured(const std::string& what) {
  return Status(Code::kInvalidArgument, Scope::kOperation, what);
}

/// One that has three operations.
class SmallSubject : public Subject {
 public:
  Status call(const Call& call) final {
    const Elements out{call.out, call.count, call.type};
    if (call.kind == OperationKind::kBarrier) return run_barrier();
    if (call.kind == OperationKind::kBroadcast) return run_broadcast(out, call.root);
    if (call.kind == OperationKind::kAllReduce) return run_all_reduce(call.in, out, call.op);
    return not_measured(std::string(name(call.kind)) +
                        " is not measured here; measured are all_reduce, broadcast and barrier");
  }

 private:
  virtual Status run_barrier() = 0;
  virtual Status run_broadcast(Elements buffer, int root) = 0;
  virtual Status run_all_reduce(const void* in, Elements out, ReduceOp op) = 0;
};

}  // namespace paceline::probe
