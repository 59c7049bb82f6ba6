// Sums or averages gradients over all ranks while backward still computes others.
//
//   std::vector<paceline::Parameter> parameters = {{"embedding", 23'440'896}, {"head", 589'824}};
//   auto pipeline = paceline::GradientPipeline::create(world, parameters).value();
//   for (…) {                                            // a step
//     for (std::size_t i = parameters.size(); i-- > 0;) {
//       backward(i, pipeline.gradient<float>(i));         // writes into the pipeline's memory
//       pipeline.ready(i).value();                        // from any thread, in any order
//     }
//     pipeline.wait().value();                            // now they are averages
//     update();
//   }
//
// GRADIENTS  Each lies in the pipeline's memory from the beginning to the end, at one address.
//            It is the caller's from create() or wait() until ready(), and again from wait() on.
// BUCKETS    What travels in one operation is decided from measurement: when gradients became ready
//            and what the path takes for an operation and for a byte; or by bucket_bytes. It is the
//            same on all ranks, and changes only between steps. Addresses never change.
// SAME BITS  Measured times differ from run to run. So where the communicator is run_stable or
//            placement_stable (Determinism) nothing follows from them: buckets of bucket_bytes, or
//            of 4 MiB, are filled and travel from the last parameter to the first, a codec that is
//            named is used for every bucket that it can encode, and kAuto uses none. The same job
//            then gives the same bits, also when it goes on from a saved state(). It costs what
//            measured buckets and codecs would have saved.
// SKIPPING   A step that reports an overflow is to be skipped on every rank. It leaves nothing in
//            what codecs keep, nor in what the pipeline measures: the next step's gradients are as
//            if it had not been. The memory for that is a second array as large as the gradients,
//            where a codec that keeps what it loses (kInt8, kTopK, kPowerSgd) is in use.
// ORDER      Ranks may differ in the order of ready(). A gradient that is not ready when wait() is
//            called counts as zeros of this rank.
// STEPS      All ranks take the same steps, of as many micro-steps: who does not is named on all
//            ranks. Who has no more data calls join().
// ERRORS     As those of Communicator: Code::kInvalidArgument leaves the pipeline usable, every
//            other one is final for it, on every rank, and names who was lost or did otherwise.
//            After one, gradients are of unspecified contents.
//
// Source of merging by measured times: Shi, Chu, Li, "MG-WFBP", INFOCOM 2019. Of urgent gradients
// that overtake others: Peng et al., "ByteScheduler", SOSP 2019.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <paceline/communicator.h>
#include <paceline/status.h>
#include <paceline/types.h>

namespace paceline {

class GradientCore;

/// In the order in which forward uses them.
struct Parameter {
  std::string name;                    ///< for messages
  std::size_t count = 0;               ///< elements of its gradient
  DataType type = DataType::kFloat32;  ///< float32, float64, float16 or bfloat16
  /// Of a row of its matrix, for kPowerSgd: in × k × k of (out, in, k, k). It divides count. A
  /// vector is one row; 0: unknown, the matrix is taken to be nearly square.
  std::size_t columns = 0;

  bool operator==(const Parameter&) const = default;
};

/// What travels instead of the elements. All but kNone go for float32 alone; sums are taken in
/// float32, and what a codec that loses much has lost is added to the next step's gradient.
enum class Codec : std::uint8_t {
  kNone,
  kBf16,      ///< half of the bytes
  kFp16,      ///< half of the bytes; what is too large for it is found
  kInt8,      ///< a quarter, and a scale for each block
  kTopK,      ///< the largest elements alone
  kPowerSgd,  ///< matrices of a low rank; Vogels, Karimireddy, Jaggi, NeurIPS 2019
  kAuto,      ///< of each bucket that which takes the least time within the error budget; none
              ///< where measured times are not used (SAME BITS)
};
inline constexpr std::size_t kCodecs = 7;
/// "none", "bf16", "fp16", "int8", "topk", "powersgd", "auto".
std::string_view name(Codec codec);
std::optional<Codec> parse_codec(std::string_view name);

/// The same on every rank.
struct GradientOptions {
  bool is_average = true;        ///< of the ranks that had data; else the sum
  std::size_t bucket_bytes = 0;  ///< 0: as measured
  std::size_t most_bytes_in_flight = 32 << 20;
  /// Looks for NaN and infinity. Without it such steps are not reported; what codecs keep is not
  /// touched by them in any case.
  bool finds_overflow = true;
  bool computes_norm = false;  ///< StepResult::norm
  /// It is used only for buckets for which it has been measured to take less time than none; else
  /// it is off, and the log says once why. Where measured times are not used (SAME BITS) it is
  /// used as if it were forced.
  Codec codec = Codec::kNone;
  bool forces_codec = false;   ///< not kAuto: it is used in any case
  double error_budget = 0.01;  ///< of kAuto: relative L2 error of a bucket
  double top_k_share = 0.01;   ///< of the elements
  int power_sgd_rank = 4;
};

/// A gradient that is not finite.
struct Overflow {
  int rank = -1;  ///< the first one that handed it in so; -1: it became so when they were summed
  std::size_t parameter = 0;

  bool operator==(const Overflow&) const = default;
};

/// The same on every rank.
struct StepResult {
  int ranks = 0;                     ///< that had data; 0 of a micro-step that is not reduced
  double norm = 0;                   ///< L2, of all reduced gradients together, if asked for
  std::optional<Overflow> overflow;  ///< the reduced gradients are not finite: skip the update
};

/// Statistics since it was made. All counts are of this rank.
struct GradientStats {
  std::uint64_t steps = 0;
  std::uint64_t operations = 0;
  /// Payload of messages to other ranks; what goes directly through memory that ranks of a host
  /// share is none, and counts nothing.
  std::uint64_t bytes_sent = 0;
  std::uint64_t plans = 0;              ///< how often buckets were decided anew
  std::size_t buckets = 0;              ///< of a step, now
  std::chrono::nanoseconds exposed{0};  ///< from the call of wait() to its end
  std::chrono::nanoseconds own_cpu{0};  ///< of the pipeline's own work between operations
};

/// Move-only. ready() and gradient() may be called from any thread, also at the same time for
/// different gradients; everything else from one thread at a time.
///
/// Fork: in a forked child every call that returns a Status or Result is refused at once with
/// Code::kInvalidArgument, and stats() is empty; gradient() has no memory there, as a Buffer has
/// none. Its destructor does nothing.
class GradientPipeline {
 public:
  /// Collective: it talks through a communicator of its own, split from `world`, which need not
  /// live longer. All ranks pass the same parameters and options; Code::kMismatch where they do
  /// not, with the rank that differs from rank 0.
  static Result<GradientPipeline> create(Communicator& world, std::vector<Parameter> parameters,
                                         const GradientOptions& options = {});
  /// The same through `own`, which nobody else uses.
  static Result<GradientPipeline> over(Communicator own, std::vector<Parameter> parameters,
                                       const GradientOptions& options = {});

  GradientPipeline(GradientPipeline&&) noexcept;
  GradientPipeline& operator=(GradientPipeline&&) noexcept;
  /// A step that has not ended ends as cancelled, on every rank.
  ~GradientPipeline();

  /// Where the gradient lies: zeros at first, aligned to 64 bytes.
  std::span<std::byte> gradient(std::size_t parameter) const;
  template <class T>
  std::span<T> gradient(std::size_t parameter) const {
    const std::span<std::byte> bytes = gradient(parameter);
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }

  /// Backward has written it, and leaves it alone until wait(). Once for each in a micro-step.
  Status ready(std::size_t parameter);
  /// The same, copied from `gradient`, which is as long.
  Status ready(std::size_t parameter, const void* gradient);

  /// Backward has ended: what is not ready is unused. Returns when this one has been reduced; the
  /// next forward may use it while others are under way.
  Status wait(std::size_t parameter);
  /// The same of all, and the end of the step.
  Result<StepResult> wait();

  /// Micro-steps from now on are not reduced (or are again): wait() only ends them, and what
  /// backward adds to the gradients comes on top, up to the wait() of one that is reduced. Between
  /// micro-steps, on all ranks alike.
  Status set_accumulating(bool is_accumulating);

  /// For who has no more data, again and again until it returns nothing: all have ended. It takes
  /// part in the others' steps, with zeros, and gradients are as theirs: for the same updates.
  Result<std::optional<StepResult>> join();

  /// From now on it has no gradient (or has one again). Between steps, on all ranks alike.
  Status set_frozen(std::size_t parameter, bool is_frozen);

  /// What codecs keep from step to step, between steps: for a checkpoint of this rank. Loading
  /// refuses what was saved of other parameters, codecs or ranks.
  std::vector<std::byte> state() const;
  Status load_state(std::span<const std::byte> state);

  const std::vector<Parameter>& parameters() const;
  GradientStats stats() const;
  /// For people: a line for each bucket in the order in which they travel.
  std::string describe() const;

 private:
  explicit GradientPipeline(std::unique_ptr<GradientCore> core);
  std::unique_ptr<GradientCore> core_;
};

}  // namespace paceline
