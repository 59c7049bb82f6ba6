// CollectiveBackend: runs whole operations. The second of the two seams (the first is Transport):
// native plans over a transport, messages between pairs, direct shared memory and MPI are backends.
// NCCL has one that stands for its operations in the queue (device_group_lane.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <paceline/message.h>
#include <paceline/reduce_rule.h>
#include <paceline/status.h>
#include <paceline/tensor.h>

#include "comm/base/clock.h"
#include "comm/base/signature.h"

namespace paceline {

/// A message of another operation than the one that runs here.
struct Disagreement {
  int peer = -1;
  Signature theirs;
  std::optional<Signature> mine{};  ///< where no collective operation was to meet it
  std::string difference{};         ///< for a person; empty where the signatures say it
};

struct OperationRequest {
  Signature signature;
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  // Borrowed, of as many ranks as there are, where the kind has them (plan/shape.h).
  const std::size_t* counts = nullptr;
  const std::size_t* recv_counts = nullptr;
  std::span<const Message> messages{};  // borrowed, of an exchange
  // Borrowed, of an all-reduce of several: the core puts them together.
  std::span<const Tensor> tensors{};
  /// A digest of what all ranks must pass alike beyond the signature.
  std::uint32_t call_digest = 0;
  /// The caller's stream, of an operation on device memory; null: the default stream.
  void* stream = nullptr;
  /// Of a pre-multiplied sum: the core multiplies, and backends sum.
  std::optional<ReduceRule::Factor> factor{};
  std::uint64_t next_history = 0;  // signature.next_history(), once the plan is known

  /// Of a collective operation: `plan` is a digest of how it is carried out. Completes the
  /// signature.
  void set_plan(std::uint32_t plan) {
    signature.plan = plan ^ call_digest;
    next_history = signature.next_history();
  }
};

/// What has become of an operation that was to begin while another one runs.
enum class NextBegin : std::uint8_t {
  kBegun,
  kNotYet,       ///< asked again later, it may
  kOnlyByStart,  ///< not before the other one has been finished
};

/// Runs one operation at a time, of the kinds that it serves. Everything with the engine's baton
/// held.
class CollectiveBackend {
 public:
  virtual ~CollectiveBackend() = default;

  virtual std::string_view name() const = 0;
  /// Operations of this kind it carries out up to so many bytes of signature.count; nothing where
  /// it carries out none. Always the same answer, and the same on every rank.
  virtual std::optional<std::size_t> most_bytes(OperationKind kind) const = 0;

  /// Up to how many bytes it takes less time to copy an input and a result than to carry out an
  /// all-reduce of their own. The same on every rank.
  virtual std::size_t small_bytes() const = 0;
  /// Begins an operation; the last one has been finished. Neither waits nor copies more than
  /// 32 KiB: the clock that says how long an operation takes is read behind it. Calls
  /// request.set_plan(), so that ranks that carry the same operation out differently find out.
  /// An error means that it has not begun. The request stays where it is until finish().
  virtual Status start(OperationRequest& request) = 0;
  /// Behind start(): does what can be done at once, and stays for as long as looking again and
  /// again is quicker than leaving it to the engine, a few microseconds. True if the operation has
  /// ended well: at `now`, which is brought up to date.
  virtual bool linger(const Clock& clock, TimePoint& now) = 0;
  /// Does what can be done without blocking; true if anything moved.
  virtual bool drive(TimePoint now) = 0;
  /// When drive() must be called again at the latest although nothing came in.
  virtual TimePoint wake_at() const { return TimePoint::max(); }
  /// Has the operation ended, well or not?
  virtual bool ended() const = 0;
  /// How it ended. After an error the caller aborts the transport before it calls finish(), and
  /// starts nothing more.
  virtual const Status& outcome() const = 0;
  /// Releases its buffers.
  virtual void finish() = 0;
  /// Does begin_next() ever begin anything? Always the same answer, and the same on every rank.
  virtual bool overlaps() const { return false; }
  /// What will be started next, while an operation runs: its messages may follow that one's once
  /// these are all on their way, if neither writes what the other uses. Once begun, until the
  /// start() of it, or forget_next().
  virtual NextBegin begin_next(OperationRequest&) { return NextBegin::kOnlyByStart; }
  /// It will not be started, after an error: the transport has been aborted.
  virtual void forget_next() {}
  /// Whose message disagreed, if outcome() is Code::kMismatch and that is why.
  virtual std::optional<Disagreement> disagreement() const = 0;
  /// The ranks whose messages it waits for, or that have not taken ours.
  virtual std::vector<int> awaited() const = 0;
};

}  // namespace paceline
