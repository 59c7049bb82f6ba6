// Averages or sums gradients over all ranks while backward still computes other gradients.
//
// Example:
//   std::vector<paceline::Parameter> parameters = {{"embedding", 23'440'896}, {"head", 589'824}};
//   auto pipeline = paceline::GradientPipeline::create(world, parameters).value();
//   for (int step = 0; step < 100; ++step) {
//     for (std::size_t i = parameters.size(); i-- > 0;) {
//       backward(i, pipeline.gradient<float>(i));  // writes into the pipeline's memory
//       pipeline.ready(i).value();                 // from any thread, in any order
//     }
//     pipeline.wait().value();  // the gradients are averages now
//     update();
//   }
//
// GRADIENTS  Each gradient lies in the pipeline's memory, at one address for the pipeline's life.
//            The caller may use it except between ready() and the end of wait().
// BUCKETS    A bucket is the group of gradients that one operation reduces. The pipeline chooses
//            buckets by measured times, unless bucket_bytes is set. They are equal on all ranks and
//            change only between steps.
// SAME BITS  If the communicator is run_stable or placement_stable (Determinism), no decision uses
//            measured times. Buckets have bucket_bytes (default 4 MiB) and travel from the last
//            parameter to the first. A named codec is used wherever it can be, and kAuto uses none.
//            So a repeated job gives the same bits, also if it continues from a saved state().
// SKIPPING   Skip a step that reports an overflow, on all ranks. It changes neither codec state nor
//            measurements. With kInt8, kTopK or kPowerSgd this needs memory for a second array of
//            all gradients.
// ORDER      Ranks may call ready() in different orders. A gradient that is not ready at wait()
//            counts as zeros of this rank.
// STEPS      All ranks make the same steps with the same number of micro-steps: else all ranks get
//            an error that names the one that differs. A rank without more data calls join().
// ERRORS     Code::kInvalidArgument leaves the pipeline usable. Any other error is final on all
//            ranks and names the rank that was lost or differs. Gradients are then unspecified.
// ON A GPU   docs/devices.md: with on_device, gradient() returns GPU memory, for kernels only.
//
// Sources: Shi, Chu, Li, "MG-WFBP", INFOCOM 2019, for buckets by measured times. Peng et al.,
// "ByteScheduler", SOSP 2019, for the priority of gradients that the next forward needs first.
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

/// A parameter of the model. Lists of parameters are in the order in which forward uses them.
struct Parameter {
  std::string name;                    ///< for messages
  std::size_t count = 0;               ///< elements of the gradient
  DataType type = DataType::kFloat32;  ///< float32, float64, float16 or bfloat16
  /// For kPowerSgd: elements in a row of the matrix: for the shape (out, in, k, k), in × k × k.
  /// Must divide count. A vector is one row. 0: unknown, assume a nearly square matrix.
  std::size_t columns = 0;
  /// How often ready() is called in each backward: more than once for weights that several layers
  /// share. The gradient is ready after the last call.
  int uses = 1;

  bool operator==(const Parameter&) const = default;
};

/// A compressed form in which gradients travel. Codecs apply to float32 only; other types travel as
/// they are. Sums are computed in float32. kInt8, kTopK and kPowerSgd use error feedback: they add
/// the error of a step to the next step's gradient.
enum class Codec : std::uint8_t {
  kNone,
  kBf16,      ///< half of the bytes
  kFp16,      ///< half of the bytes; above 65504 is reported as overflow, below 3e-8 becomes zero
  kInt8,      ///< a quarter of the bytes, and a scale for each block
  kTopK,      ///< only the elements of largest magnitude
  kPowerSgd,  ///< low-rank matrices; Vogels, Karimireddy, Jaggi, NeurIPS 2019
  kAuto,      ///< for each bucket the fastest codec within error_budget; none under SAME BITS
};
inline constexpr std::size_t kCodecs = 7;
/// The name: "none", "bf16", "fp16", "int8", "topk", "powersgd", "auto".
std::string_view name(Codec codec);
std::optional<Codec> parse_codec(std::string_view name);

/// Must be equal on all ranks.
struct GradientOptions {
  bool is_average = true;        ///< average over the ranks that had data; false: the sum
  std::size_t bucket_bytes = 0;  ///< size of buckets; 0: chosen by measured times
  std::size_t max_bytes_in_flight = 32 << 20;
  bool finds_overflow = true;  ///< look for NaN and infinity; codec state is safe in any case
  bool computes_norm = false;  ///< compute StepResult::norm
  /// Used only for buckets where measurement shows that it saves time. Under SAME BITS, and where
  /// NCCL reduces buckets, it is always used. If it is off, the log gives the reason once.
  Codec codec = Codec::kNone;
  bool forces_codec = false;   ///< use `codec` always; not for kAuto
  double error_budget = 0.01;  ///< for kAuto: max relative L2 error of a bucket
  double top_k_share = 0.01;   ///< for kTopK: share of the elements that is sent, 0 to 1
  int power_sgd_rank = 4;      ///< for kPowerSgd: rank of the matrices
  /// Gradients lie in the memory of the GPU that is current for the calling thread of create().
  bool on_device = false;
};

/// A gradient with a NaN, an infinity, or a value beyond the range of its codec.
struct Overflow {
  int rank = -1;  ///< the first rank that contributed such a value; -1: the result overflowed
  std::size_t parameter = 0;

  bool operator==(const Overflow&) const = default;
};

/// The outcome of a step, equal on all ranks.
struct StepResult {
  int ranks = 0;                     ///< ranks that had data; 0 for a micro-step without reduction
  double norm = 0;                   ///< L2 norm of all reduced gradients, if computes_norm
  std::optional<Overflow> overflow;  ///< set if a reduced gradient overflowed: skip the update
};

/// Counts of this rank since the pipeline was made.
struct GradientStats {
  std::uint64_t steps = 0;
  std::uint64_t operations = 0;
  /// Payload of messages to other ranks, without data that went through shared memory.
  std::uint64_t bytes_sent = 0;
  std::uint64_t plans = 0;              ///< how often the buckets changed
  std::size_t buckets = 0;              ///< buckets per step, at present
  std::chrono::nanoseconds exposed{0};  ///< time inside wait()
  std::chrono::nanoseconds own_cpu{0};  ///< CPU time of the pipeline itself, between operations
};

/// Move-only. Any thread may call ready() and gradient(), also concurrently for different
/// gradients, and abort() and failure(). One thread at a time calls all other members.
/// In a forked child, and after a move from it, calls that return a Status or Result fail with
/// Code::kInvalidArgument, stats() is empty, and the destructor has no effect. A child sees the
/// memory of gradients as paceline/buffer.h (FORK) says; after a move gradient() has none.
class GradientPipeline {
 public:
  /// Collective. The pipeline splits its own communicator from `world`, which may end before the
  /// pipeline does. All ranks pass equal parameters and options, else all get Code::kMismatch. The
  /// error names a rank whose arguments are wrong, or else one that differs from rank 0. If one
  /// rank cannot make its pipeline, no rank gets one. Its own error says why, and the others name
  /// it.
  static Result<GradientPipeline> create(Communicator& world, std::vector<Parameter> parameters,
                                         const GradientOptions& options = {});
  /// Like create(), but takes over `own` instead of a split.
  static Result<GradientPipeline> over(Communicator own, std::vector<Parameter> parameters,
                                       const GradientOptions& options = {});

  GradientPipeline(GradientPipeline&&) noexcept;
  GradientPipeline& operator=(GradientPipeline&&) noexcept;
  /// An unfinished step ends with Code::kCancelled on all ranks.
  ~GradientPipeline();

  /// The memory of the gradient: aligned to 64 bytes, zeros at first, owned by the pipeline. Empty
  /// if the parameter does not exist.
  std::span<std::byte> gradient(std::size_t parameter) const;
  template <class T>
  std::span<T> gradient(std::size_t parameter) const {
    const std::span<std::byte> bytes = gradient(parameter);
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }

  /// Says that backward has written the gradient. The caller must not use it until wait() has
  /// returned. Called Parameter::uses times per micro-step; backward adds later uses to the first.
  Status ready(std::size_t parameter);
  /// Copies `gradient`, an array of the same length, then does what ready(parameter) does. If an
  /// earlier use or micro-step of this step has made this gradient ready, adds it instead.
  Status ready(std::size_t parameter, const void* gradient);
  /// ready() with on_device, in the order of `stream`, a cudaStream_t (null: the default stream).
  /// `gradient` is memory of the same GPU, unchanged until wait(). It is refused during micro-steps
  /// and for parameters with several uses. Without on_device `stream` is null.
  Status ready_on(std::size_t parameter, void* stream);
  Status ready_on(std::size_t parameter, const void* gradient, void* stream);

  /// Says that backward has ended: gradients that are not ready count as unused. Returns when this
  /// gradient is reduced. The next forward may use it while other gradients are still in flight.
  Status wait(std::size_t parameter);
  /// Waits for all gradients and ends the step.
  Result<StepResult> wait();
  /// wait() with on_device, but these may return before the result is in GPU memory. Later work on
  /// `stream` begins after it is there. Without on_device `stream` is null.
  Status wait_on(std::size_t parameter, void* stream);
  Result<StepResult> wait_on(void* stream);

  /// True: from now on wait() ends a micro-step without a reduction, and backward adds to the
  /// gradients. False: the next wait() reduces their sum. Called between micro-steps, on all ranks.
  Status set_accumulating(bool is_accumulating);

  /// For a rank without more data: takes part in one step of the other ranks, with zeros, and gets
  /// the reduced gradients for the same update. Call it until it returns nullopt: no rank has data.
  Result<std::optional<StepResult>> join();
  Result<std::optional<StepResult>> join_on(void* stream);  ///< join(), ends as wait_on() does

  /// True: the parameter has no gradient from now on, and its codec error is discarded. False: it
  /// has one again. Called between steps, on all ranks with the same values.
  Status set_frozen(std::size_t parameter, bool is_frozen);

  /// For a program that scales its loss, and changes the scale. The program multiplies gradients of
  /// later steps by `scale`, at first 1; the pipeline rescales only the codec errors of earlier
  /// steps. Called between steps, on all ranks with the same values.
  Status set_loss_scale(double scale);

  /// The time limit of each operation; see Communicator::set_timeout().
  Status set_timeout(std::chrono::milliseconds timeout);
  /// Ends the step, and all later calls, with Code::kCancelled, on all ranks. Other threads may be
  /// inside a call. Communicator::abort() of `world` does not end the pipeline.
  void abort();
  /// The final error, or a success while the pipeline is usable. Also looks for an error that
  /// another rank has reported.
  Status failure() const;

  /// The state of the codecs (error feedback) after the last step that counted, for a checkpoint of
  /// this rank. load_state() refuses a state of other parameters or options, and of another rank or
  /// number of ranks unless the codecs keep no errors.
  std::vector<std::byte> state() const;
  Status load_state(std::span<const std::byte> state);

  const std::vector<Parameter>& parameters() const;
  GradientStats stats() const;
  /// Text to print: one line per bucket, in the order in which they are sent.
  std::string describe() const;

 private:
  explicit GradientPipeline(std::unique_ptr<GradientCore> core);
  Status usable() const;
  std::unique_ptr<GradientCore> core_;
};

}  // namespace paceline
