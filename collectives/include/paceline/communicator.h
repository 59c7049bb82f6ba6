// Collective operations among the ranks of a group, and messages between two of them.
//
//   #include <paceline/communicator.h>
//   paceline::Communicator world = paceline::Communicator::init().value();
//   std::vector<float> gradients(1000, 1.0f);
//   world.all_reduce(std::span(gradients)).value();   // now each element is world.size()
//
//   world.close().value();                            // all ranks made the same calls
//
// Every rank of the group makes the same collective calls in the same order; what a call means
// (kind, count, type, op, root) travels with its data, so ranks that disagree get Code::kMismatch
// with both sides named, not a hang or a wrong sum: at that call, or, where a rank's own part had
// ended without meeting the other, at its next call or at close(). Operations of one communicator
// run one after another in the order of the calls; different communicators run side by side.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <paceline/group.h>
#include <paceline/message.h>
#include <paceline/reduce_rule.h>
#include <paceline/status.h>
#include <paceline/tensor.h>
#include <paceline/types.h>
#include <paceline/unique_id.h>
#include <paceline/work.h>

namespace paceline {

class CommunicatorCore;
class GradientPipeline;

struct InitOptions {
  /// An operation that has not ended after this long ends with Code::kTimeout. Zero: the value of
  /// PACELINE_TIMEOUT_S, 300 s by default. At most a year. It bounds the rendezvous of init() too.
  std::chrono::milliseconds timeout_ms{0};
  /// The same on every rank. Unset: PACELINE_DETERMINISM, Determinism::kFast by default.
  std::optional<Determinism> determinism{};
};

/// In split(), of a rank that joins none.
inline constexpr int kNoColor = -1;

/// Statistics since the communicator was made. All counts are of this rank.
struct CommunicatorStats {
  std::uint64_t operations = 0;
  std::uint64_t messages_sent = 0;
  std::uint64_t bytes_sent = 0;              ///< payload; headers not counted
  std::chrono::nanoseconds time_blocked{0};  ///< spent by callers inside blocking calls and waits
};

/// Move-only. Member functions may be called from any thread, one at a time.
///
/// Buffers: elements of `type`, at any address. `in` and `out` do not overlap, except in place, as
/// each operation says. One that has no elements on a rank may be null. A buffer belongs to the
/// operation from the call until it has ended; after an error its contents are unspecified.
///
/// Errors: Code::kInvalidArgument leaves the communicator usable, and so does Code::kExhausted,
/// which refuses an operation while too many are outstanding. Every other error is final for it, on
/// every rank: later calls return the same Status at once. Code::kPeerLost names a rank that
/// has gone, Code::kTimeout one that does not answer or has not made the call, with the operation
/// that it holds up.
///
/// Fork: in a forked child every call is refused at once with Code::kInvalidArgument, abort() and
/// the destructor do nothing, and stats() is empty: nothing reaches the parent or its peers. Calls
/// on a Work of the parent are refused alike. A child may execute a program that joins a group.
class Communicator {
 public:
  /// Joins the world that the environment describes: the one `paceline run` gives its ranks, or
  /// RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT with PACELINE_JOB_KEY_FILE where there is no
  /// launcher. Without RANK and WORLD_SIZE it is a world of one. Collective: returns when all
  /// ranks have come, or with an error that names who has not.
  static Result<Communicator> init(const InitOptions& options = {});

  /// Joins the world of `size` ranks that all have been given this id. Collective.
  static Result<Communicator> init(const UniqueId& id, int rank, int size,
                                   const InitOptions& options = {});

  /// From parts; see collectives/communicator_core.h. For tests and for layers above.
  explicit Communicator(std::unique_ptr<CommunicatorCore> core);
  Communicator(Communicator&&) noexcept;
  Communicator& operator=(Communicator&&) noexcept;
  /// Operations that have not ended end as cancelled, and ranks that wait for this one are told.
  ~Communicator();

  /// Communicators of their own for the ranks that pass the same color, in the order of `key`, then
  /// of their rank here; none for those that pass kNoColor. Collective, in two all_gathers, and the
  /// new ones then meet as those of an id do. They and this one go on side by side; an error here
  /// that is not final leaves this one usable. What `options` does not say is as it is here.
  Result<std::optional<Communicator>> split(int color, int key, const InitOptions& options = {});

  /// Returns when every rank has called it, and succeeds only if all have made the same calls
  /// before. Later calls of anything else are refused; to close again does nothing.
  Status close();

  /// Of each operation that is called from now on, between 1 ms and a year; at first that of
  /// InitOptions. Ranks may differ: the first deadline that passes ends it for all.
  Status set_timeout(std::chrono::milliseconds timeout);
  /// Ends what runs, and all that comes, with Code::kCancelled, here and on the other ranks. From
  /// any thread, also while others are inside a call.
  void abort();
  /// The error that is final for it; a success while it can be used.
  Status failure() const;

  int rank() const;
  int size() const;
  const Group& group() const;
  CommunicatorStats stats() const;

  /// Returns when every rank has called it.
  Status barrier();
  /// `root`'s `count` elements on every rank.
  Status broadcast(void* buffer, std::size_t count, DataType type, int root);
  /// Element-wise reduction of every rank's `in`, of `count` elements, the result in `root`'s
  /// `out`; the others have none. In place: in == out.
  Status reduce(const void* in, void* out, std::size_t count, DataType type, ReduceRule rule,
                int root);
  /// The same, and the result in every rank's `out`.
  Status all_reduce(const void* in, void* out, std::size_t count, DataType type,
                    ReduceRule rule = ReduceOp::kSum);

  /// The same of many arrays at once. Small ones that follow each other travel together, which
  /// saves what an operation of its own costs; all ranks pass the same counts in the same order.
  /// No array may touch what another one's result is written to.
  Status all_reduce_many(std::span<const Tensor> tensors, DataType type,
                         ReduceRule rule = ReduceOp::kSum);

  // An array of size() blocks of `count` elements has one for each rank, in the order of the ranks.

  /// Element-wise reduction of every rank's `in`, an array of blocks, and of the result one's own
  /// block in `out`. In place: `out` is one's own block of `in`.
  Status reduce_scatter(const void* in, void* out, std::size_t count, DataType type,
                        ReduceRule rule = ReduceOp::kSum);
  /// Every rank's `in`, a block, in every rank's `out`, an array. In place: `in` is one's own block
  /// of `out`.
  Status all_gather(const void* in, void* out, std::size_t count, DataType type);
  /// The same, but in `root`'s `out`; the others have none. In place: on the root as all_gather.
  Status gather(const void* in, void* out, std::size_t count, DataType type, int root);
  /// The blocks of `root`'s `in`, an array, each in its rank's `out`; the others have no `in`. In
  /// place: on the root `out` is its own block of `in`.
  Status scatter(const void* in, void* out, std::size_t count, DataType type, int root);
  /// Block b of rank a's `in` becomes block a of rank b's `out`. Not in place.
  Status all_to_all(const void* in, void* out, std::size_t count, DataType type);

  // Blocks of as many elements as `counts` says, by rank, one behind the other: else as above. All
  // ranks pass the same counts.

  Status reduce_scatter_v(const void* in, void* out, std::span<const std::size_t> counts,
                          DataType type, ReduceRule rule = ReduceOp::kSum);
  Status all_gather_v(const void* in, void* out, std::span<const std::size_t> counts,
                      DataType type);
  Status gather_v(const void* in, void* out, std::span<const std::size_t> counts, DataType type,
                  int root);
  Status scatter_v(const void* in, void* out, std::span<const std::size_t> counts, DataType type,
                   int root);
  /// Each rank passes its own counts: send_counts[b] elements go to rank b, whose recv_counts of
  /// this rank are as many.
  Status all_to_all_v(const void* in, std::span<const std::size_t> send_counts, void* out,
                      std::span<const std::size_t> recv_counts, DataType type);

  // Messages between two ranks. Of a pair, those that one sends meet what the other receives from
  // it in the order of the calls; count and type agree, and so does the place: between the same
  // collective operations on both. A message that was sent and not received is found at the
  // receiver's next collective operation, or by close().

  /// `count` elements to `peer`. Ends when `in` may be reused, which may be before `peer` has
  /// called receive(), or, where there is no room for so much or `in` is a long one in a buffer
  /// (paceline/buffer.h), only then: two ranks that send to each other use exchange(). Not to
  /// oneself.
  Status send(const void* in, std::size_t count, DataType type, int peer);
  Status receive(void* out, std::size_t count, DataType type, int peer);
  /// Many messages at once, in both directions, with any peers; ends when all have ended. What one
  /// sends to oneself it receives in the same exchange.
  Status exchange(std::span<const Message> messages);

  /// The same without waiting for the end. Errors in the arguments come through the Work too.
  /// Counts and lists of messages and tensors belong to the operation as buffers do.
  Work barrier_async();
  Work broadcast_async(void* buffer, std::size_t count, DataType type, int root);
  Work reduce_async(const void* in, void* out, std::size_t count, DataType type, ReduceRule rule,
                    int root);
  Work all_reduce_async(const void* in, void* out, std::size_t count, DataType type,
                        ReduceRule rule = ReduceOp::kSum);
  Work all_reduce_many_async(std::span<const Tensor> tensors, DataType type,
                             ReduceRule rule = ReduceOp::kSum);
  Work reduce_scatter_async(const void* in, void* out, std::size_t count, DataType type,
                            ReduceRule rule = ReduceOp::kSum);
  Work all_gather_async(const void* in, void* out, std::size_t count, DataType type);
  Work gather_async(const void* in, void* out, std::size_t count, DataType type, int root);
  Work scatter_async(const void* in, void* out, std::size_t count, DataType type, int root);
  Work all_to_all_async(const void* in, void* out, std::size_t count, DataType type);
  Work reduce_scatter_v_async(const void* in, void* out, std::span<const std::size_t> counts,
                              DataType type, ReduceRule rule = ReduceOp::kSum);
  Work all_gather_v_async(const void* in, void* out, std::span<const std::size_t> counts,
                          DataType type);
  Work gather_v_async(const void* in, void* out, std::span<const std::size_t> counts, DataType type,
                      int root);
  Work scatter_v_async(const void* in, void* out, std::span<const std::size_t> counts,
                       DataType type, int root);
  Work all_to_all_v_async(const void* in, std::span<const std::size_t> send_counts, void* out,
                          std::span<const std::size_t> recv_counts, DataType type);
  Work send_async(const void* in, std::size_t count, DataType type, int peer);
  Work receive_async(void* out, std::size_t count, DataType type, int peer);
  Work exchange_async(std::span<const Message> messages);

  /// In place on typed spans.
  template <class T>
  Status broadcast(std::span<T> buffer, int root) {
    return broadcast(buffer.data(), buffer.size(), kDataTypeOf<T>, root);
  }
  template <class T>
  Status all_reduce(std::span<T> buffer, ReduceRule rule = ReduceOp::kSum) {
    return all_reduce(buffer.data(), buffer.data(), buffer.size(), kDataTypeOf<T>, rule);
  }
  template <class T>
  Work all_reduce_async(std::span<T> buffer, ReduceRule rule = ReduceOp::kSum) {
    return all_reduce_async(buffer.data(), buffer.data(), buffer.size(), kDataTypeOf<T>, rule);
  }

 private:
  friend class GradientPipeline;  // takes the core over
  std::unique_ptr<CommunicatorCore> core_;
};

}  // namespace paceline
