// Collective operations among the ranks of a group, and messages between two ranks.
//
// Example:
//   paceline::Communicator world = paceline::Communicator::init().value();
//   std::vector<float> gradients(1000, 1.0f);
//   world.all_reduce(gradients).value();  // each element is now world.size()
//   world.close().value();                // succeeds if all ranks made the same calls
//
// All ranks make the same collective calls in the same order. Each message carries the kind, count,
// type, op and root of its call. So ranks that disagree get Code::kMismatch, which names both
// sides, instead of a hang or a wrong sum. The error comes at that call, at the next one, or at
// close(). Operations of one communicator run one after the other, in the order of the calls.
// Operations of different communicators run concurrently.
#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

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

struct InitOptions {
  /// Time limit of each operation, and of init() itself; an operation that exceeds it fails with
  /// Code::kTimeout. 0: PACELINE_TIMEOUT_S, by default 300 s. Maximum: one year.
  std::chrono::milliseconds timeout_ms{0};
  /// Must be equal on all ranks. Unset: PACELINE_DETERMINISM, by default Determinism::kFast.
  std::optional<Determinism> determinism{};
  /// A name for errors, logs and the launcher: "tensor parallel 0". At most 63 bytes of printable
  /// ASCII, copied; should be equal on all ranks. Empty: the world has no name, and others are
  /// called "split #3, color 0".
  std::string_view name{};
};

/// Passed to split() by a rank that joins no new communicator.
inline constexpr int kNoColor = -1;

/// A std::vector, std::array, std::span or C array, but no temporary that owns its elements.
template <class A>
concept Array = std::ranges::contiguous_range<A> && std::ranges::sized_range<A> &&
    std::ranges::borrowed_range<A>;
template <Array A>
using ElementOf = std::ranges::range_value_t<A>;
/// An array with the same type of elements.
template <class A, class Other>
concept ArrayLike = Array<A> && Array<Other> && std::same_as<ElementOf<A>, ElementOf<Other>>;

/// Counts of this rank since the communicator was made.
struct CommunicatorStats {
  std::uint64_t operations = 0;
  std::uint64_t messages_sent = 0;
  std::uint64_t bytes_sent = 0;              ///< payload, without headers
  std::chrono::nanoseconds time_blocked{0};  ///< time of callers in blocking calls and in wait()
};

/// Move-only. Any thread may call the members, but only one at a time (except abort()). After a
/// move from it, calls that return a Status, Result or Work fail with Code::kInvalidArgument.
///
/// BUFFERS  `count` elements of `type`, with any alignment, borrowed until the operation has ended.
///          `in` and `out` must not overlap, except in place as stated. A buffer without elements
///          may be null. After an error the contents are unspecified.
/// DEVICES  All buffers of a call are host memory, or all are memory of the same GPU, on all ranks.
///          An operation on GPU memory begins after the work that was enqueued on its stream before
///          the call (set_stream()). Blocking forms return when the result is there. With
///          Work::wait_on() a stream waits instead of the CPU.
/// ERRORS   After Code::kInvalidArgument and Code::kExhausted (too many outstanding operations) the
///          communicator stays usable. Any other error is final on all ranks: later calls return
///          the same Status at once. Code::kPeerLost names a rank that has ended. Code::kTimeout
///          names a rank that did not answer or did not make the call, and the operation.
/// FORK     In a forked child every call fails at once with Code::kInvalidArgument, abort() and the
///          destructor have no effect, and stats() is empty. A Work of the parent behaves alike. A
///          child may execute a program that joins a group. A child of fork() that outlives
///          its parent keeps no connection open: peers see the end of the parent at once.
/// EXIT     At exit() or the end of main(), an exit handler ends the communicator as its destructor
///          does, within about five seconds. Static objects made after the first communicator are
///          destroyed earlier, older ones later. Then calls return its error, and init() fails with
///          Code::kCancelled. After _exit(), quick_exit(), a signal, or exit() in a signal handler
///          that interrupted a call, peers only see the connection end.
class Communicator {
 public:
  /// Joins the world that the environment describes: as set by `paceline run`, or RANK, WORLD_SIZE,
  /// MASTER_ADDR, MASTER_PORT and PACELINE_JOB_KEY_FILE, or none for a world of one rank. Without
  /// `paceline run`, ranks on several hosts also need PACELINE_NET or PACELINE_BIND_ADDRESS.
  /// Collective: returns when all ranks have joined, or with an error that names the missing ranks.
  static Result<Communicator> init(const InitOptions& options = {});

  /// Joins a world of `size` ranks that all pass this id. Collective.
  static Result<Communicator> init(const UniqueId& id, int rank, int size,
                                   const InitOptions& options = {});

  /// For tests and for layers above: see collectives/communicator_core.h.
  explicit Communicator(std::unique_ptr<CommunicatorCore> core);
  /// For layers above, such as the gradient pipeline. Null after a move from it.
  CommunicatorCore* core() const { return core_.get(); }
  Communicator(Communicator&&) noexcept;
  Communicator& operator=(Communicator&&) noexcept;
  /// Unfinished operations end with Code::kCancelled. Ranks that wait for this one get an error.
  ~Communicator();

  /// Makes a new communicator for the ranks that pass the same `color`, in the order of `key`, then
  /// of rank. A rank that passes kNoColor gets none. Collective: four all_gathers of some 256 bytes
  /// from each rank. A few more follow if there is too little shared memory: the new ones use TCP
  /// then. New communicators share threads, descriptors and ports with this one, and may outlive
  /// it. Unset options come from it. If a new one cannot be made, all ranks of its color get an
  /// error, and this communicator stays usable. The error names the rank by its new number.
  /// Code::kUnavailable: the error of another rank, or PACELINE_BACKEND=shm without shared memory.
  Result<std::optional<Communicator>> split(int color, int key, const InitOptions& options = {});

  /// Makes a new communicator for these ranks, in this order: rank i of it is `ranks[i]` of this
  /// one. Collective: all ranks of this communicator pass the same list. Ranks that are not in it
  /// get none. Code::kMismatch, on all ranks: the lists differ; this communicator stays usable.
  /// Otherwise like split().
  Result<std::optional<Communicator>> subset(std::span<const int> ranks,
                                             const InitOptions& options = {});

  /// Returns when all ranks have called it. Succeeds only if all made the same calls before. Later
  /// operations fail with Code::kInvalidArgument; a second close() has no effect.
  Status close();

  /// Sets the time limit of each operation that is called from now on, from 1 ms to one year. Ranks
  /// may pass different values: the first limit that expires ends the operation on all ranks.
  Status set_timeout(std::chrono::milliseconds timeout);
  /// Ends the running operations, and all later ones, with Code::kCancelled, on all ranks. The
  /// error names this rank. Any thread may call it, also while another thread is inside a call.
  void abort();
  /// The final error, or a success while the communicator is usable. Also looks for an error that
  /// another rank has reported.
  Status failure() const;

  /// Sets the stream of later operations on device memory. They begin after what is enqueued there
  /// when they are called. Null: the default stream. `stream` is a cudaStream_t.
  void set_stream(void* stream);

  int rank() const;
  int size() const;
  const Group& group() const;
  CommunicatorStats stats() const;

  /// Returns when all ranks have called it.
  Status barrier();
  /// Copies `count` elements of rank `root` into `buffer` on all other ranks.
  Status broadcast(void* buffer, std::size_t count, DataType type, int root);
  /// Reduces `in` (`count` elements) of all ranks into `out` on rank `root`, element by element.
  /// Other ranks ignore `out`. In place: in == out.
  Status reduce(const void* in, void* out, std::size_t count, DataType type, ReduceRule rule,
                int root);
  /// Reduces `in` (`count` elements) of all ranks into `out` on each rank. In place: in == out.
  Status all_reduce(const void* in, void* out, std::size_t count, DataType type,
                    ReduceRule rule = ReduceOp::kSum);

  /// Reduces many arrays, each like all_reduce(). Consecutive small arrays travel together. All
  /// ranks pass the same counts in the same order. No array may overlap the output of another.
  Status all_reduce_many(std::span<const Tensor> tensors, DataType type,
                         ReduceRule rule = ReduceOp::kSum);

  // In the next five operations a block is `count` elements. Block r of an array of size() blocks
  // belongs to rank r.

  /// Reduces `in` (size() blocks) of all ranks; `out` gets this rank's block of the result. In
  /// place: `out` is this rank's block of `in`.
  Status reduce_scatter(const void* in, void* out, std::size_t count, DataType type,
                        ReduceRule rule = ReduceOp::kSum);
  /// Copies `in` (one block) of each rank into `out` (size() blocks) on all ranks. In place: `in`
  /// is this rank's block of `out`.
  Status all_gather(const void* in, void* out, std::size_t count, DataType type);
  /// Copies `in` (one block) of each rank into `out` (size() blocks) on rank `root`. Other ranks
  /// ignore `out`. In place, on the root: `in` is its block of `out`.
  Status gather(const void* in, void* out, std::size_t count, DataType type, int root);
  /// Copies block r of `in` (size() blocks) of rank `root` into `out` (one block) of rank r. Other
  /// ranks ignore `in`. In place, on the root: `out` is its block of `in`.
  Status scatter(const void* in, void* out, std::size_t count, DataType type, int root);
  /// Copies block b of `in` of rank a into block a of `out` of rank b, for all a and b. Both arrays
  /// have size() blocks. Not in place.
  Status all_to_all(const void* in, void* out, std::size_t count, DataType type);

  /// Forms with contiguous blocks of different lengths: block r has counts[r] elements. All ranks
  /// pass the same counts.
  Status reduce_scatter_v(const void* in, void* out, std::span<const std::size_t> counts,
                          DataType type, ReduceRule rule = ReduceOp::kSum);
  Status all_gather_v(const void* in, void* out, std::span<const std::size_t> counts,
                      DataType type);
  Status gather_v(const void* in, void* out, std::span<const std::size_t> counts, DataType type,
                  int root);
  Status scatter_v(const void* in, void* out, std::span<const std::size_t> counts, DataType type,
                   int root);
  /// Each rank passes its own counts. send_counts[b] elements go to rank b, and must be equal to
  /// recv_counts[a] there, where a is this rank.
  Status all_to_all_v(const void* in, std::span<const std::size_t> send_counts, void* out,
                      std::span<const std::size_t> recv_counts, DataType type);

  // Messages between two ranks. Sends of rank a to rank b match the receives from a on b in the
  // order of the calls. Count and type must agree. Both calls must stand between the same two
  // collective operations. A message that is not received is an error of the receiver's next
  // collective operation, or of close().

  /// Sends `count` elements to `peer`, another rank. Ends when `in` may be reused: for a message
  /// that exceeds the free space, and for a long one in a buffer (paceline/buffer.h), only after
  /// `peer` has called receive(). So two ranks that send to each other use exchange().
  Status send(const void* in, std::size_t count, DataType type, int peer);
  /// Receives `count` elements from `peer`, another rank.
  Status receive(void* out, std::size_t count, DataType type, int peer);
  /// Sends and receives many messages, with any peers. Ends when all have ended. A message to this
  /// rank itself must be received in the same exchange.
  Status exchange(std::span<const Message> messages);

  /// Asynchronous forms: they return at once. Work::wait() returns the outcome, also for wrong
  /// arguments. Counts and lists of messages or tensors are borrowed until the end, like buffers.
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

  // Operations on arrays: std::vector, std::array, std::span or a C array, of lengths that fit
  // (Code::kInvalidArgument). Reductions need kIsElement; others take all trivially copyable types.
  // all_reduce_async is the only asynchronous operation with this form.

  template <Array A>
  Status broadcast(A&& array, int root) {
    return broadcast(writable(array), moved_count(array), kMovedAs<A>, root);
  }
  /// In place.
  template <Array A>
  Status all_reduce(A&& array, ReduceRule rule = ReduceOp::kSum) {
    return all_reduce(writable(array), writable(array), std::ranges::size(array),
                      kDataTypeOf<ElementOf<A>>, rule);
  }
  /// In place.
  template <Array A>
  Work all_reduce_async(A&& array, ReduceRule rule = ReduceOp::kSum) {
    return all_reduce_async(writable(array), writable(array), std::ranges::size(array),
                            kDataTypeOf<ElementOf<A>>, rule);
  }
  template <Array In, ArrayLike<In> Out>
  Status all_reduce(In&& in, Out&& out, ReduceRule rule = ReduceOp::kSum) {
    if (Status fits = check_length(std::ranges::size(out), std::ranges::size(in)); !fits.ok())
      return fits;
    return all_reduce(std::ranges::data(in), writable(out), std::ranges::size(in),
                      kDataTypeOf<ElementOf<In>>, rule);
  }
  template <Array In, ArrayLike<In> Out>
  Status reduce(In&& in, Out&& out, ReduceRule rule, int root) {
    if (Status fits = check_length(std::ranges::size(out), std::ranges::size(in), rank() != root);
        !fits.ok())
      return fits;
    return reduce(std::ranges::data(in), writable(out), std::ranges::size(in),
                  kDataTypeOf<ElementOf<In>>, rule, root);
  }
  template <Array In, ArrayLike<In> Out>
  Status reduce_scatter(In&& in, Out&& out, ReduceRule rule = ReduceOp::kSum) {
    if (Status fits = check_length(std::ranges::size(in), std::ranges::size(out) * ranks());
        !fits.ok())
      return fits;
    return reduce_scatter(std::ranges::data(in), writable(out), std::ranges::size(out),
                          kDataTypeOf<ElementOf<In>>, rule);
  }
  template <Array In, ArrayLike<In> Out>
  Status all_gather(In&& in, Out&& out) {
    if (Status fits = check_length(std::ranges::size(out), std::ranges::size(in) * ranks());
        !fits.ok())
      return fits;
    return all_gather(std::ranges::data(in), writable(out), moved_count(in), kMovedAs<In>);
  }
  template <Array In, ArrayLike<In> Out>
  Status gather(In&& in, Out&& out, int root) {
    if (Status fits =
            check_length(std::ranges::size(out), std::ranges::size(in) * ranks(), rank() != root);
        !fits.ok())
      return fits;
    return gather(std::ranges::data(in), writable(out), moved_count(in), kMovedAs<In>, root);
  }
  template <Array In, ArrayLike<In> Out>
  Status scatter(In&& in, Out&& out, int root) {
    if (Status fits =
            check_length(std::ranges::size(in), std::ranges::size(out) * ranks(), rank() != root);
        !fits.ok())
      return fits;
    return scatter(std::ranges::data(in), writable(out), moved_count(out), kMovedAs<In>, root);
  }
  template <Array In, ArrayLike<In> Out>
  Status all_to_all(In&& in, Out&& out) {
    const std::size_t block = std::ranges::size(in) / ranks();
    if (Status fits = check_length(std::ranges::size(in), block * ranks()); !fits.ok()) return fits;
    if (Status fits = check_length(std::ranges::size(out), block * ranks()); !fits.ok())
      return fits;
    return all_to_all(std::ranges::data(in), writable(out), moved_count(in) / ranks(),
                      kMovedAs<In>);
  }
  template <Array A>
  Status send(A&& array, int peer) {
    return send(std::ranges::data(array), moved_count(array), kMovedAs<A>, peer);
  }
  template <Array A>
  Status receive(A&& array, int peer) {
    return receive(writable(array), moved_count(array), kMovedAs<A>, peer);
  }

 private:
  std::size_t ranks() const { return std::max<std::size_t>(group().members.size(), 1); }
  template <Array A>
  static auto* writable(A&& array) {
    static_assert(!std::is_const_v<std::remove_reference_t<decltype(*std::ranges::data(array))>>,
                  "the result needs an array that is not const");
    return std::ranges::data(array);
  }
  // Elements that cannot be reduced travel as bytes.
  template <class T>
  static constexpr DataType moved_as() {
    if constexpr (kIsElement<T>) return kDataTypeOf<T>;
    return DataType::kUInt8;
  }
  template <Array A>
  static constexpr DataType kMovedAs = moved_as<ElementOf<A>>();
  template <Array A>
  static std::size_t moved_count(A&& array) {
    static_assert(std::is_trivially_copyable_v<ElementOf<A>>, "elements are copied as bytes");
    return std::ranges::size(array) * (kIsElement<ElementOf<A>> ? 1 : sizeof(ElementOf<A>));
  }
  // `is_ignored`: this rank's array is not used.
  static Status check_length(std::size_t length, std::size_t needed, bool is_ignored = false) {
    return length == needed || is_ignored ? Status() : wrong_length(length, needed);
  }
  static Status wrong_length(std::size_t length, std::size_t needed);

  std::unique_ptr<CommunicatorCore> core_;
};

}  // namespace paceline
