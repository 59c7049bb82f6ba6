// One call of any operation: what a rank puts in, the call itself, and whether what comes out is
// what collectives/plan/shape.h says.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <paceline/buffer.h>
#include <paceline/communicator.h>

#include "collectives/plan/shape.h"
#include "comm/base/signature.h"
#include "tests/harness/elements.h"
#include "tests/harness/fake_device.h"

namespace paceline::testing {

/// Can all ranks make it? A single send or receive is a call of one.
constexpr bool is_of_all(OperationKind kind) {
  return kind != OperationKind::kSend && kind != OperationKind::kReceive;
}
/// Does a call have a count and a type? Those of an exchange are its messages'.
constexpr bool moves_elements(OperationKind kind) {
  return has_elements(kind) || kind == OperationKind::kExchange;
}

/// An exchange sends to the rank that follows, and receives from the one before.
struct Call {
  OperationKind kind = OperationKind::kBarrier;
  /// Where the kind moves elements. Where it has counts they are uneven_requests()'s.
  std::size_t count = 0;
  DataType type = DataType::kFloat32;  ///< the same
  ReduceOp op = ReduceOp::kSum;        ///< where it reduces
  int root = 0;                        ///< where it has one
  bool asynchronous = false;
  bool in_place = false;         ///< where that is possible
  bool registered = false;       ///< its arrays lie in buffers
  FakeDevice* device = nullptr;  ///< its arrays lie in the memory of this device

  bool operator==(const Call&) const = default;
  /// Is all that ranks must agree on the same?
  bool agrees_with(const Call& other) const;
};

/// What a communicator of that many ranks makes of it: all that they must agree on, but for counts
/// of their own.
Signature signature_of(const Call& call, int ranks);
/// The messages of an exchange, as its rank names them: what it sends, what it receives.
std::array<Signature, 2> message_signatures(const Call& call, int rank, int ranks);

/// Where the arrays of a call lie: anywhere, in a buffer, or on a device.
class CallMemory {
 public:
  void assign(std::size_t bytes, std::byte value, const Call& call);
  /// The address that a call gets for one of bytes().
  std::byte* passed(const std::byte* seen) const {
    std::byte* const begin = device_ != nullptr ? device_.get() : bytes_.data();
    return begin + (seen - bytes_.data());
  }
  std::span<const std::byte> bytes() const { return bytes_; }
  std::span<std::byte> bytes() { return bytes_; }
  std::byte* data() { return bytes_.data(); }
  const std::byte* data() const { return bytes_.data(); }
  std::size_t size() const { return bytes_.size(); }

 private:
  std::vector<std::byte> ordinary_;
  Buffer registered_;
  std::shared_ptr<std::byte> device_;  // owner: this
  std::span<std::byte> bytes_;
};

/// A call on one rank. Its buffers stay until it is destroyed, which must not be before the
/// communicator has ended it.
class MadeCall {
 public:
  /// `number` tells calls apart: their inputs differ.
  MadeCall(const Call& call, std::size_t number, int rank, int ranks);

  Status run(Communicator& world);
  void start(Communicator& world);
  Status wait() const { return work_.wait(); }
  /// Of start().
  const Work& work() const { return work_; }
  /// Destroys the only handle of it, which does not stop it.
  void forget_work() { work_ = Work(); }
  /// The call in the form that it is to have, its end, and the verdict() on it.
  Status check(Communicator& world);

  const std::vector<std::size_t>& counts() const { return request().counts; }
  const std::vector<std::size_t>& recv_counts() const { return request().recv_counts; }
  ReduceRule rule() const { return rule_of(form_, rank_); }
  /// Of an exchange.
  std::span<const Message> messages();
  /// All memory of its arrays, for a test that writes into it after the end of the call.
  std::array<std::span<std::byte>, 2> memory() { return {first_.bytes(), second_.bytes()}; }
  /// The buffers that the call gets. Null where this rank has none.
  const void* input() const;
  void* output();

  /// What is wrong with the result, the input, or what lies beside them; empty if nothing is.
  std::string wrong() const;
  /// The same as an error that names the call: Code::kInternal.
  Status verdict() const;

 private:
  static constexpr std::size_t kGuardBytes = 64;

  const PlanRequest& request() const { return requests_[static_cast<std::size_t>(rank_)]; }
  const std::byte* seen_input() const;
  const std::byte* seen_output() const;
  std::size_t bytes(std::size_t count) const { return count * size_of(call_.type); }
  std::string wrong_result() const;
  bool is_untouched(const CallMemory& memory, std::size_t from, std::size_t to) const;

  const Call call_;
  const CallForm form_;
  const std::vector<PlanRequest> requests_;  // of all ranks
  const int rank_;
  const Shape shape_;
  const bool in_place_;
  CallMemory first_;   // the input; in place: both
  CallMemory second_;  // the output, where it is not in place
  std::array<Message, 2> messages_;
  Work work_;
};

}  // namespace paceline::testing
