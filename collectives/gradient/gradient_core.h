// What is behind a GradientPipeline: its steps.
//
// ready() marks a gradient, without a lock. Everything else is done by whoever drives the engine,
// the background thread while backward computes: this is one of its drivers, beside the
// communicator that it owns. A step is
//
//   head        an all-gather: who has data, who sums up how many micro-steps (step_head.h)
//   buckets     as the line has them (bucket_line.h)
//   at the end  if something was not finite, an all-gather of who had it first; now and then an
//               all-reduce of measurements, from which the next buckets come
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <paceline/gradient_pipeline.h>

#include "collectives/communicator_core.h"
#include "collectives/gradient/arena.h"
#include "collectives/gradient/bucket_line.h"
#include "collectives/gradient/codec_policy.h"
#include "collectives/gradient/device_looks.h"
#include "collectives/gradient/device_mirror.h"
#include "collectives/gradient/device_scratch.h"
#include "collectives/gradient/error_feedback.h"
#include "collectives/gradient/low_rank_bases.h"
#include "collectives/gradient/measured_schedule.h"
#include "collectives/gradient/readiness.h"
#include "collectives/gradient/step_head.h"

namespace paceline {

/// The stream that waits for gradients in device memory. Nothing: the caller waits.
using WaitingStream = std::optional<DeviceStream>;

class GradientCore final : private Driver, private DeviceMirror::Owner {
 public:
  /// `mirror`: null if the gradients lie in the arena. `by_library`: a library such as NCCL reduces
  /// them in the memory of the mirror.
  GradientCore(Communicator own, GradientArena arena, std::unique_ptr<DeviceMirror> mirror,
               std::vector<Parameter> parameters, const GradientOptions& options, bool by_library);
  ~GradientCore() override;
  GradientCore(const GradientCore&) = delete;
  GradientCore& operator=(const GradientCore&) = delete;

  /// See CommunicatorCore.
  bool is_out_of_reach() const { return own_.is_out_of_reach(); }
  /// Has this process been forked from the one that has made it?
  bool is_of_another_process() const { return own_.is_of_another_process(); }
  /// The error for a call in a forked child; a success otherwise.
  Status refuse_child() const { return own_.refuse_child(); }

  // The calls of GradientPipeline.
  std::span<std::byte> gradient(std::size_t parameter) const;
  Status ready(std::size_t parameter, DeviceStream stream);
  Status ready(std::size_t parameter, const void* gradient, DeviceStream stream);
  Status wait(std::size_t parameter, WaitingStream stream);
  Result<StepResult> wait(WaitingStream stream);
  Status set_accumulating(bool is_accumulating);
  Result<std::optional<StepResult>> join(WaitingStream stream);
  Status set_frozen(std::size_t parameter, bool is_frozen);
  Status set_loss_scale(double scale);
  Status set_timeout(std::chrono::milliseconds timeout) { return own_.set_timeout(timeout); }
  void abort() { own_.abort(); }
  Status failure() const { return has_failed_.load() ? told_failure() : own_.failure(); }
  /// See CommunicatorCore::look_for_failure().
  Status look_for_failure() {
    return has_failed_.load() ? told_failure() : own_.look_for_failure();
  }
  const std::vector<Parameter>& parameters() const { return parameters_; }
  std::vector<std::byte> state() const;
  Status load_state(std::span<const std::byte> state);
  GradientStats stats() const;
  std::string describe() const;

 private:
  enum class Phase : std::uint8_t {
    kIdle,      // no gradient of the step is ready
    kBackward,  // some are
    kEnding,    // all are, or count as unused
  };

  bool drive(TimePoint now) override;
  bool drive_head(TimePoint now);
  void has_arrived(std::size_t gradient) override;
  void fail(const Status& why);

  Status check_place(std::size_t parameter) const;
  Status check(std::size_t parameter) const;  // it is there, and not frozen
  Status told_failure() const;
  std::string named(std::size_t parameter) const override;
  Status ready_too_often(std::size_t parameter) const;
  Status check_between_steps(const char* what) const;
  Status begin_ready(std::size_t parameter);
  Status mark_ready(std::size_t parameter);
  Status mark_ready(std::size_t parameter, const void* gradient);
  double since_opened_us() const;
  Status open_step(bool has_joined);
  Status end_backward(DeviceStream stream);
  Status mark_unused(DeviceStream stream);
  // An earlier use or micro-step of this step has touched it.
  bool has_data(std::size_t parameter) const {
    return is_touched_[parameter] || readiness_.has_begun(parameter);
  }
  Status wait_for(std::size_t parameter, WaitingStream stream);
  Result<StepResult> wait_for_all(WaitingStream stream);
  Result<std::optional<StepResult>> join_step(WaitingStream stream);
  void expose_from(TimePoint begin);
  Status drive_until(FunctionRef<bool()> condition);
  Result<StepResult> end_step(WaitingStream stream);
  void end_micro_step();
  void close_step();
  void settle_feedback(bool counts);
  Status find_overflow(StepResult& result);
  Status decide_buckets();
  Result<double> short_operation_us();
  GradientSample sample() const;
  void set_schedule(Schedule schedule, const PathCost& path);
  DataType type_of(const Bucket& bucket) const {
    return parameters_[bucket.gradients.front()].type;
  }

  // With device memory (gradient_on_device.cc).
  std::shared_ptr<const Completion> start_operation(const OperationRequest& request);
  Status mark_on_device(std::size_t parameter, const void* from, DeviceStream stream);
  Status check_stream(DeviceStream stream) const;
  Status check_from(std::size_t parameter, const void* gradient) const;
  Status ready_on_device(std::size_t parameter, const void* from, DeviceStream stream);
  Status copy_down(std::size_t parameter, const void* from);
  // Gradients lie on a device, and buckets are reduced from copies in the arena.
  bool copies() const { return mirror_ != nullptr && !by_library_; }
  Status clear_unused(DeviceStream stream);
  ByteSpan bytes_of(std::size_t parameter) const;
  Status mark_unused_on_device(DeviceStream stream);
  void copy_up();
  bool is_back(std::size_t bucket, WaitingStream stream) const;
  bool are_back(WaitingStream stream) const;
  Status let_wait(std::span<const std::size_t> buckets, WaitingStream stream);
  Status let_wait_for_all(WaitingStream stream);
  void drain_after_failure();
  bool drain_library();
  // `outcome`: of a call that returns to a caller who may free memory after an error.
  template <class Outcome>
  Outcome drained(Outcome outcome) {
    if (!outcome.ok()) drain_after_failure();
    return outcome;
  }

  void make_room_on_device();
  bool may_be_coded(const Bucket& bucket) const;
  Codec codec_of(const Bucket& bucket, const PathCost& path) const;
  std::unique_ptr<BucketReduction> make_reduction(std::size_t bucket);
  void tell_log(const std::string& news) const;

  const Communicator communicator_;
  CommunicatorCore& own_;   // of communicator_
  HeldCommunicator& held_;  // of own_
  const std::shared_ptr<Engine> engine_;
  GradientArena arena_;
  const std::unique_ptr<DeviceMirror> mirror_;  // null: gradients lie in the arena
  const std::vector<Parameter> parameters_;
  const bool by_library_;                 // reduces gradients in device memory
  std::optional<DeviceLooks> looks_;      // of these gradients, if an option needs them
  std::optional<DeviceScratch> scratch_;  // for them
  const bool measures_;  // buckets and codecs depend on measured times, which must be those
                         // of gradients: not of calls before kernels, as with by_library_
  const GradientOptions options_;
  const std::uint64_t digest_;  // of parameters and options

  Readiness readiness_;
  std::atomic<Phase> phase_{Phase::kIdle};
  std::atomic<bool> has_failed_{false};
  std::mutex opening_;  // whoever is the first of a step

  // One thread at a time, between the steps that others drive.
  std::vector<bool> is_frozen_;
  std::vector<bool> is_touched_;  // by a micro-step that was not reduced
  bool is_accumulating_ = false;
  std::uint64_t micro_steps_ = 0;  // that were not reduced
  double loss_scale_ = 1;
  CodecPolicy policy_;
  ErrorFeedback feedback_;  // errors of codecs
  LowRankBases bases_;      // of PowerSGD
  MeasuredSchedule measured_;
  Schedule schedule_;
  std::vector<Codec> codecs_;  // of its buckets
  TimePoint opened_at_{};

  // With the engine's baton.
  BucketLine line_;
  StepHead head_;
  std::vector<StepHead> heads_;
  std::shared_ptr<const Completion> head_flight_;  // null: no step is under way
  std::optional<int> ranks_;                       // that have data, once the heads have come
  StepTally tally_;
  Status failure_;
  std::uint64_t steps_ = 0, plans_ = 0;
  std::uint64_t counted_ = 0;  // steps without an overflow
  Duration exposed_{};
};

}  // namespace paceline
