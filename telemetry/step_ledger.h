// The steps of a rank and its exposed communication, in shared memory that its agent reads while
// the rank runs and after its end. paceline/steps.h is its face to programs.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include <paceline/status.h>
#include <paceline/steps.h>

#include "comm/base/clock.h"
#include "comm/base/process_mark.h"
#include "comm/base/unique_fd.h"

namespace paceline {

/// What a reader finds.
struct LedgerReading {
  StepTotals totals;
  std::int64_t begin_ns = 0;    ///< CLOCK_MONOTONIC; of the first step; 0: no step has begun
  std::int64_t end_ns = 0;      ///< of the last step that has ended
  std::int64_t exposed_ns = 0;  ///< exposed communication in all, also outside of steps
  std::int32_t thread = 0;      ///< the marking thread, as the rank sees it; 0: none
  bool repeats_input = false;   ///< the program was told to keep its input
};

class StepLedger {
 public:
  /// The ledger of this process: the memory of PACELINE_LEDGER_FD, or private memory. It is never
  /// destroyed.
  static StepLedger& of_process();

  static Result<UniqueFd> create_memory();
  /// Maps the memory in `fd`, which stays the caller's, as writer or reader.
  static Result<std::unique_ptr<StepLedger>> open(int fd);
  static std::unique_ptr<StepLedger> create_private();
  /// Called before the first mark.
  void ablate_input() { ablates_input_ = true; }

  ~StepLedger();
  StepLedger(const StepLedger&) = delete;
  StepLedger& operator=(const StepLedger&) = delete;

  // Writer, by the marking thread: calls of other threads have no effect.
  void begin_step(TimePoint now);
  void end_step(TimePoint now, std::uint64_t samples, double flop);
  StepPart enter_part(StepPart part, TimePoint now);
  /// True once a step has ended in a process that ablates its input. Any thread, also of a forked
  /// child.
  bool input_is_repeated();

  /// True if this thread's waits are exposed: it is the marking thread, or there is none. Any
  /// thread.
  bool counts_here() const;
  /// Writer: a thread whose waits count has waited for communication. Time that has been added
  /// before is not counted again: returns what is counted. Any thread.
  Duration add_exposed(TimePoint from, TimePoint to);

  /// Reader. Any thread, any process.
  LedgerReading read() const;

 private:
  struct Layout;
  enum class Phase : std::uint8_t { kBefore, kInStep, kBetween };

  StepLedger(Layout* layout, bool is_shared) : layout_(layout), is_shared_(is_shared) {}
  bool claim();
  bool may_mark();
  void begin_account(TimePoint now);
  void charge(StepPart part, TimePoint now);
  void publish();

  Layout* const layout_;
  const bool is_shared_;
  bool ablates_input_ = false;
  const ProcessMark made_in_;
  std::atomic<const void*> marking_thread_{nullptr};  // an address of its own; null: none yet
  // Of the marking thread:
  Phase phase_ = Phase::kBefore;
  StepPart part_ = StepPart::kCompute;
  TimePoint begin_{}, charged_until_{};
  std::int64_t exposed_before_ns_ = 0;  // at charged_until_
  StepTotals totals_;
};

}  // namespace paceline
