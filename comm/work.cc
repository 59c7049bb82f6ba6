#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <utility>

#include <paceline/work.h>

#include "comm/completion.h"
#include "comm/engine.h"
#include "comm/exit.h"
#include "telemetry/step_ledger.h"

namespace paceline {
namespace {

// The wait of this thread for an operation. If the operation ends first, its queue counts the wait.
class ExposedWait {
 public:
  ExposedWait(const WorkCompletion& completion, const Clock& clock)
      : completion_(completion), clock_(clock) {
    if (StepLedger::of_process().counts_here()) since_ = clock.now();
    if (is_counted()) completion_.waited_since_ns.store(since_.time_since_epoch().count());
  }
  ExposedWait(const ExposedWait&) = delete;
  ExposedWait& operator=(const ExposedWait&) = delete;
  ~ExposedWait() {
    if (!is_counted() || completion_.has_ended()) return;
    completion_.waited_since_ns.store(0);
    StepLedger::of_process().add_exposed(since_, clock_.now());
  }

 private:
  bool is_counted() const { return since_ != TimePoint{}; }

  const WorkCompletion& completion_;
  const Clock& clock_;
  TimePoint since_{};
};

}  // namespace

Work::Work(std::shared_ptr<Engine> engine, std::shared_ptr<const WorkCompletion> completion)
    : engine_(std::move(engine)), completion_(std::move(completion)) {}

// In a forked child test() is true, and wait() returns the error.
bool Work::test() const {
  return completion_ == nullptr || !completion_->made_in.is_of_this_process() ||
         completion_->has_ended();
}

Status Work::wait() const { return wait_for(Duration::max()); }

Status Work::wait_for(std::chrono::nanoseconds timeout) const {
  if (completion_ == nullptr) return {};
  if (!completion_->made_in.is_of_this_process()) return completion_->made_in.refusal("operation");
  if (!completion_->has_ended()) {
    const ExposedWait wait(*completion_, engine_->clock());
    const auto ended = [this] { return completion_->has_ended(); };
    if (!engine_->wait(ended, Deadline::after(engine_->clock(), timeout))) {
      if (engine_->is_stopped()) return exit_error();
      return Status(Code::kTimeout, Scope::kNone, "the operation has not ended yet");
    }
  }
  return completion_->status;
}

Status Work::wait_on(void* stream) const {
  if (completion_ == nullptr) return {};
  if (!completion_->made_in.is_of_this_process()) return completion_->made_in.refusal("operation");
  if (completion_->has_ended()) return completion_->status;
  // Evaluated with the baton held, as are the changes of `order`.
  const auto is_enqueued = [this] {
    return completion_->has_ended() ||
           (completion_->order != nullptr && completion_->order->is_enqueued(*completion_));
  };
  // At most twice: an operation that fails after it was enqueued then ends.
  for (;;) {
    {
      const ExposedWait wait(*completion_, engine_->clock());
      if (!engine_->wait(is_enqueued, Deadline::at(TimePoint::max()))) return exit_error();
    }
    const Engine::Baton baton = engine_->hold();
    if (completion_->has_ended()) return completion_->status;
    if (is_enqueued()) return completion_->order->let_wait(*completion_, stream);
  }
}

Status wait_all(std::span<const Work> works) {
  Status first;
  for (const Work& work : works) {
    Status ended = work.wait();
    if (first.ok()) first = std::move(ended);
  }
  return first;
}

// Communicators of one init() have an engine in common, and a background thread drives it. This
// thread drives the engine of the first work. If others have another one, it looks at them from
// time to time.
std::size_t wait_any(std::span<const Work> works) {
  constexpr Duration kLook = std::chrono::microseconds(200);
  std::size_t found = works.size();
  const auto ended = [&] {
    for (found = 0; found < works.size(); ++found)
      if (works[found].test()) return true;
    return false;
  };
  if (works.empty() || ended()) return found;
  Engine& engine = *works.front().engine_;
  const bool is_one =
      std::ranges::all_of(works, [&](const Work& one) { return one.engine_.get() == &engine; });
  std::deque<ExposedWait> waits;
  for (const Work& one : works) waits.emplace_back(*one.completion_, engine.clock());
  while (!ended()) {
    if (engine.is_stopped()) return 0;  // its wait() returns the error
    (void)engine.wait(ended, Deadline::after(engine.clock(), is_one ? Duration::max() : kLook));
  }
  return found;
}

void Work::cancel() const {
  if (test()) return;
  const Engine::Baton baton = engine_->hold();
  if (!completion_->has_ended() && completion_->owner != nullptr)
    completion_->owner->cancel(*completion_);
}

}  // namespace paceline
