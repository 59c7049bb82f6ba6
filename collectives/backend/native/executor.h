// The executor: carries a plan out over a transport. All I/O of the native algorithms is here.
//
// A step begins when its dependencies have ended; sends and receives with one peer begin in the
// plan's order, so that they meet. What comes is compared with the operation's signature before
// anything that depends on it begins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <paceline/status.h>

#include "collectives/backend/backend.h"
#include "collectives/backend/native/compiled_plan.h"
#include "collectives/reduce/kernels.h"
#include "comm/transport.h"

namespace paceline {

class Executor final : private RequestListener {
 public:
  /// The transport is borrowed; null in a group of one, whose plans have no messages.
  explicit Executor(Transport* transport) : transport_(transport) {}

  /// One plan at a time. `input` and `output` belong to it until it has ended, and until the
  /// transport has been aborted if it ended in an error.
  void start(std::shared_ptr<const CompiledPlan> plan, const Signature& signature,
             const std::byte* input, std::byte* output);
  /// Begins what can begin; true if anything did.
  bool advance();
  /// Are all messages on their way? What another one begins from now on stands behind them.
  bool has_begun_all_messages() const;
  /// Ended well, or failed.
  bool ended() const { return plan_ == nullptr || !failure_.ok() || left_ == 0; }
  const Status& failure() const { return failure_; }
  /// Forgets the plan; after a failure only once the transport has been aborted.
  void finish() { plan_.reset(); }

  /// The first message that was another operation's.
  const std::optional<Disagreement>& disagreement() const { return disagreement_; }

  /// Ranks whose messages are waited for, or that have not taken ours.
  std::vector<int> awaited() const;

 private:
  enum class Progress : std::uint8_t { kWaiting, kReady, kBegun, kEnded };

  void ended(Request& request) override;
  void make_ready(StepId step);
  bool advance_lanes();
  void begin(StepId step);
  void reduce(const Step& step);
  void average(const Plan& plan, const Step& step);
  void begin_message(StepId id);
  void finish_step(StepId step);
  void check_message(StepId step, const Request& request);
  std::byte* at(Span span);
  std::size_t bytes(std::size_t count) const { return count * element_bytes_; }

  Transport* const transport_;
  std::shared_ptr<const CompiledPlan> plan_;  // owners: this and the backend's cache
  Signature signature_;
  std::size_t element_bytes_ = 0;
  const Kernels* kernels_ = nullptr;
  std::byte* buffers_[3] = {};  // indexed by PlanBuffer; the input is never written
  Status failure_;
  std::optional<Disagreement> disagreement_;
  std::size_t left_ = 0;

  // Indexed by step; kept from plan to plan, so that a steady state allocates nothing.
  std::vector<Progress> progress_;
  std::vector<std::uint32_t> waits_for_;
  std::vector<Request> requests_;
  std::vector<std::size_t> next_in_lane_;
  std::vector<StepId> local_ready_;  // copies and reductions that may begin
  std::vector<StepId> ended_;        // steps whose end has not been followed up
  std::vector<const void*> operands_;
  std::vector<float> weights_;
  std::vector<std::byte> scratch_;
};

}  // namespace paceline
