#include "comm/simulation.h"

#include <algorithm>
#include <deque>
#include <map>
#include <semaphore>
#include <thread>
#include <vector>

#include "comm/base/assert.h"

namespace paceline {
namespace {

// How often the next event comes before a rank that could run: the rank was computing.
constexpr double kEventFirst = 0.3;
// How long a rank computes on, at most, before its background thread has looked.
constexpr Duration kNudge = std::chrono::microseconds(5);

}  // namespace

// Thread i runs rank i, whenever it has the turn. The semaphores pass the turn on and order the
// memory accesses; they live here, since a rank that passes the turn on may still be inside of
// release() when the simulation is already gone.
class RankThreads::Pool {
 public:
  ~Pool() {
    stopping_ = true;
    for (Thread& each : threads_) each.turn.release();
    for (Thread& each : threads_) each.thread.join();
  }

  /// Until end(), a thread's first turn calls `body` with its number.
  void begin(int count, FunctionRef<void(int)> body) {
    PACELINE_ASSERT(body_ == nullptr);
    body_ = std::make_unique<FunctionRef<void(int)>>(body);
    for (int index = static_cast<int>(threads_.size()); index < count; ++index) {
      Thread& fresh = threads_.emplace_back();
      fresh.thread = std::thread([this, &fresh, index] { serve(fresh, index); });
    }
  }
  void end() { body_.reset(); }

  void give_turn(int index) { threads_[static_cast<std::size_t>(index)].turn.release(); }
  void await_turn(int index) { threads_[static_cast<std::size_t>(index)].turn.acquire(); }
  void tell_finished() { finished_.release(); }
  void await_finished() { finished_.acquire(); }

 private:
  struct Thread {
    std::binary_semaphore turn{0};
    std::thread thread;
  };

  void serve(Thread& self, int index) {
    while (true) {
      self.turn.acquire();
      if (stopping_) return;
      (*body_)(index);
    }
  }

  std::deque<Thread> threads_;                    // a thread's place in memory never changes
  std::unique_ptr<FunctionRef<void(int)>> body_;  // of the simulation that uses the threads
  std::binary_semaphore finished_{0};
  bool stopping_ = false;
};

RankThreads::RankThreads() : pool_(std::make_unique<Pool>()) {}
RankThreads::~RankThreads() = default;

// All members are touched by one thread at a time: the one that has the turn.
class Simulation::Scheduler {
 public:
  Scheduler(const Options& options, RankThreads::Pool& threads);

  Status run(FunctionRef<void(int, Engine&)> body);
  bool wait(int rank, FunctionRef<bool()> condition, Deadline deadline);
  void schedule(Duration delay, std::function<void()> event);

  class RankEngine;
  class SimulatedClock final : public Clock {
   public:
    TimePoint now() const override { return now_; }
    TimePoint now_{};
  };

  // What a rank that does not have the turn waits for; it lies on the rank's stack.
  struct Wait {
    FunctionRef<bool()> condition;
    Deadline deadline;
    bool satisfied = false;
  };

  struct Rank {
    explicit Rank(std::unique_ptr<RankEngine> its_engine) : engine(std::move(its_engine)) {}
    std::unique_ptr<RankEngine> engine;
    Wait* wait = nullptr;  // null before its first turn
    bool finished = false;
    bool touched = true;  // something may have changed since its condition was looked at
    TimePoint wake_at = TimePoint::max();
    TimePoint stopped_until{};
  };

  const Options options_;
  SimulatedClock clock_;
  Random random_;
  std::vector<Rank> ranks_;
  std::uint64_t steps_ = 0;
  std::multimap<std::uint64_t, std::function<void()>> step_events_;

 private:
  bool is_over(Rank& rank, Wait& wait);
  // When it may be looked at again.
  TimePoint next_turn(const Rank& rank) const {
    return std::max(rank.touched ? clock_.now_ : rank.wake_at, rank.stopped_until);
  }
  int choose_next();
  int choose_turn();
  void take_step();
  void fire_event();
  bool advance_time();
  void pass_turn();
  void give_up(const std::string& why);

  RankThreads::Pool& threads_;
  std::multimap<TimePoint, std::function<void()>> events_;
  std::vector<int> ready_;  // kept, so that a step allocates nothing
  int unfinished_;
  Status given_up_;  // not ok: every wait ends, so that the bodies return
};

class Simulation::Scheduler::RankEngine final : public Engine {
 public:
  RankEngine(Scheduler& scheduler, int rank) : scheduler_(scheduler), rank_(rank) {}

  const Clock& clock() const override { return scheduler_.clock_; }
  bool wait(FunctionRef<bool()> condition, Deadline deadline) override {
    return scheduler_.wait(rank_, condition, deadline);
  }
  // Every wait drives its rank, and there is nothing outside.
  void serve() override {}
  // Its background thread would look now: or a little later, when others have had their turn.
  void nudge() override {
    if (scheduler_.random_.chance(0.5)) return;
    bool has_looked = false;
    const auto again = [&] { return std::exchange(has_looked, true); };
    (void)scheduler_.wait(rank_, again, Deadline::after(scheduler_.clock_, kNudge));
  }
  void attach(Driver& driver) override { drivers_.push_back(&driver); }
  void detach(Driver& driver) override { std::erase(drivers_, &driver); }
  // Operations in the background make progress in their rank's next wait.
  void begin_background() override {}
  void end_background() override {}

  void drive_all() {
    while (drive_each(drivers_, scheduler_.clock_.now())) {
    }
  }
  TimePoint wake_at() const {
    TimePoint wake = TimePoint::max();
    for (const Driver* driver : drivers_) wake = std::min(wake, driver->wake_at());
    return wake;
  }

 private:
  // One rank runs at a time, so the baton is always free.
  void acquire() override {}
  void release() override {}

  Scheduler& scheduler_;
  const int rank_;
  std::vector<Driver*> drivers_;
};

Simulation::Scheduler::Scheduler(const Options& options, RankThreads::Pool& threads)
    : options_(options), random_(options.seed), threads_(threads), unfinished_(options.ranks) {
  for (int rank = 0; rank < options.ranks; ++rank) {
    ranks_.emplace_back(std::make_unique<RankEngine>(*this, rank));
  }
}

Status Simulation::Scheduler::run(FunctionRef<void(int, Engine&)> body) {
  const auto run_rank = [this, body](int index) {
    Rank& rank = ranks_[static_cast<std::size_t>(index)];
    body(index, *rank.engine);
    rank.finished = true;
    --unfinished_;
    pass_turn();
  };
  threads_.begin(options_.ranks, run_rank);
  threads_.give_turn(choose_turn());
  threads_.await_finished();
  threads_.end();
  return given_up_;
}

bool Simulation::Scheduler::wait(int index, FunctionRef<bool()> condition, Deadline deadline) {
  Rank& rank = ranks_[static_cast<std::size_t>(index)];
  Wait wait{.condition = condition, .deadline = deadline};
  if (is_over(rank, wait)) return wait.satisfied;
  rank.wait = &wait;
  const int next = choose_turn();
  if (next != index) {
    threads_.give_turn(next);
    threads_.await_turn(index);
  }
  rank.wait = nullptr;
  return wait.satisfied;
}

// Drives the rank and looks at its condition, on whichever thread this is.
bool Simulation::Scheduler::is_over(Rank& rank, Wait& wait) {
  rank.touched = false;
  rank.engine->drive_all();
  wait.satisfied = wait.condition();
  if (wait.satisfied || !given_up_.ok() || wait.deadline.passed(clock_.now())) {
    rank.wake_at = TimePoint::max();
    return true;
  }
  rank.wake_at = std::min(wait.deadline.moment(), rank.engine->wake_at());
  return false;
}

void Simulation::Scheduler::schedule(Duration delay, std::function<void()> event) {
  events_.emplace(clock_.now() + delay, std::move(event));
}

// Gives the turn of a rank that has returned to another.
void Simulation::Scheduler::pass_turn() {
  if (unfinished_ == 0) {
    threads_.tell_finished();
  } else {
    threads_.give_turn(choose_turn());
  }
}

// The rank whose thread has something to do: its first turn has come, or its wait is over.
int Simulation::Scheduler::choose_turn() {
  while (true) {
    const int next = choose_next();
    Rank& rank = ranks_[static_cast<std::size_t>(next)];
    if (rank.wait == nullptr || is_over(rank, *rank.wait)) return next;
  }
}

// The rank that is looked at next.
int Simulation::Scheduler::choose_next() {
  while (true) {
    take_step();
    ready_.clear();
    for (int index = 0; index < options_.ranks; ++index) {
      const Rank& rank = ranks_[static_cast<std::size_t>(index)];
      const bool may_run = !given_up_.ok() || next_turn(rank) <= clock_.now();
      if (!rank.finished && may_run) ready_.push_back(index);
    }
    // Ranks that are ready race with the next event; time passes by itself when none is.
    const bool event_first = !events_.empty() && random_.chance(kEventFirst);
    if (!ready_.empty() && (!given_up_.ok() || !event_first)) {
      return ready_[random_.below(ready_.size())];
    }
    if (!ready_.empty()) {
      fire_event();
    } else if (!advance_time()) {
      give_up("is stuck: every rank waits without a deadline, and no message is in flight");
    }
  }
}

void Simulation::Scheduler::take_step() {
  if (++steps_ > options_.step_limit) give_up("exceeds its limit of steps");
  while (!step_events_.empty() && step_events_.begin()->first <= steps_) {
    const std::function<void()> event = std::move(step_events_.begin()->second);
    step_events_.erase(step_events_.begin());
    event();
  }
}

void Simulation::Scheduler::give_up(const std::string& why) {
  if (!given_up_.ok()) return;
  given_up_ = Status(Code::kInternal, Scope::kProcess,
                     "simulation with seed " + std::to_string(options_.seed) + " " + why);
}

void Simulation::Scheduler::fire_event() {
  auto first = events_.begin();
  clock_.now_ = std::max(clock_.now_, first->first);
  const std::function<void()> event = std::move(first->second);
  events_.erase(first);
  event();
}

// To the next event or deadline, whichever comes first; false if there is neither.
bool Simulation::Scheduler::advance_time() {
  TimePoint wake = TimePoint::max();
  for (const Rank& rank : ranks_) {
    if (!rank.finished) wake = std::min(wake, next_turn(rank));
  }
  if (!events_.empty() && events_.begin()->first <= wake) {
    fire_event();
    return true;
  }
  if (wake == TimePoint::max()) return false;
  clock_.now_ = std::max(clock_.now_, wake);
  return true;
}

Simulation::Simulation(const Options& options)
    : own_threads_(options.threads == nullptr ? std::make_unique<RankThreads>() : nullptr) {
  PACELINE_ASSERT(options.ranks > 0);
  RankThreads& threads = options.threads != nullptr ? *options.threads : *own_threads_;
  scheduler_ = std::make_unique<Scheduler>(options, *threads.pool_);
}
Simulation::~Simulation() = default;

Status Simulation::run(FunctionRef<void(int, Engine&)> body) { return scheduler_->run(body); }
int Simulation::ranks() const { return scheduler_->options_.ranks; }
std::uint64_t Simulation::seed() const { return scheduler_->options_.seed; }
Engine& Simulation::engine(int rank) {
  return *scheduler_->ranks_[static_cast<std::size_t>(rank)].engine;
}
const Clock& Simulation::clock() const { return scheduler_->clock_; }
Random& Simulation::random() { return scheduler_->random_; }
std::uint64_t Simulation::steps() const { return scheduler_->steps_; }
void Simulation::at_step(std::uint64_t step, std::function<void()> event) {
  scheduler_->step_events_.emplace(step, std::move(event));
}
void Simulation::schedule(Duration delay, std::function<void()> event) {
  scheduler_->schedule(delay, std::move(event));
}
void Simulation::stop(int rank, Duration time) {
  scheduler_->ranks_[static_cast<std::size_t>(rank)].stopped_until = scheduler_->clock_.now_ + time;
}
void Simulation::touch(int rank) {
  scheduler_->ranks_[static_cast<std::size_t>(rank)].touched = true;
}

}  // namespace paceline
