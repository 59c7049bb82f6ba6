#include "comm/simulation.h"

#include <algorithm>
#include <map>
#include <semaphore>
#include <thread>
#include <vector>

#include "comm/base/assert.h"

namespace paceline {
namespace {

// How often the next event comes before a rank that could run: the rank was computing.
constexpr double kEventFirst = 0.3;

}  // namespace

// All members are touched by one thread at a time: the rank that has the turn. The semaphores pass
// the turn on and order the memory accesses.
class Simulation::Scheduler {
 public:
  explicit Scheduler(const Options& options);

  Status run(FunctionRef<void(int, Engine&)> body);
  bool wait(int rank, FunctionRef<bool()> condition, Deadline deadline);
  void schedule(Duration delay, std::function<void()> event);

  class RankEngine;
  class SimulatedClock final : public Clock {
   public:
    TimePoint now() const override { return now_; }
    TimePoint now_{};
  };

  struct Rank {
    explicit Rank(std::unique_ptr<RankEngine> its_engine) : engine(std::move(its_engine)) {}
    std::unique_ptr<RankEngine> engine;
    std::binary_semaphore turn{0};
    bool finished = false;
    bool touched = true;  // something may have changed since it last looked
    TimePoint wake_at = TimePoint::max();
  };

  const Options options_;
  SimulatedClock clock_;
  Random random_;
  std::vector<std::unique_ptr<Rank>> ranks_;

 private:
  int choose_next();
  void fire_event();
  bool advance_time();
  void pass_turn();
  void give_up(std::string why);

  std::multimap<TimePoint, std::function<void()>> events_;
  std::binary_semaphore all_finished_{0};
  std::uint64_t steps_ = 0;
  Status given_up_;  // not ok: every wait ends, so that the bodies return
};

class Simulation::Scheduler::RankEngine final : public Engine {
 public:
  RankEngine(Scheduler& scheduler, int rank) : scheduler_(scheduler), rank_(rank) {}

  const Clock& clock() const override { return scheduler_.clock_; }
  bool wait(FunctionRef<bool()> condition, Deadline deadline) override {
    return scheduler_.wait(rank_, condition, deadline);
  }
  void attach(Driver& driver) override { drivers_.push_back(&driver); }
  void detach(Driver& driver) override { std::erase(drivers_, &driver); }
  // Operations in the background make progress in their rank's next wait.
  void begin_background() override {}
  void end_background() override {}

  void drive_all() {
    bool moved = true;
    while (moved) {
      moved = false;
      for (std::size_t i = 0; i < drivers_.size(); ++i) {
        moved |= drivers_[i]->drive(scheduler_.clock_.now());
      }
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

Simulation::Scheduler::Scheduler(const Options& options)
    : options_(options), random_(options.seed) {
  for (int rank = 0; rank < options.ranks; ++rank) {
    ranks_.push_back(std::make_unique<Rank>(std::make_unique<RankEngine>(*this, rank)));
  }
}

Status Simulation::Scheduler::run(FunctionRef<void(int, Engine&)> body) {
  std::vector<std::thread> threads;
  for (int index = 0; index < options_.ranks; ++index) {
    threads.emplace_back([this, index, body] {
      Rank& rank = *ranks_[static_cast<std::size_t>(index)];
      rank.turn.acquire();
      body(index, *rank.engine);
      rank.finished = true;
      pass_turn();
    });
  }
  ranks_[static_cast<std::size_t>(choose_next())]->turn.release();
  all_finished_.acquire();
  for (std::thread& thread : threads) thread.join();
  return given_up_;
}

bool Simulation::Scheduler::wait(int index, FunctionRef<bool()> condition, Deadline deadline) {
  Rank& rank = *ranks_[static_cast<std::size_t>(index)];
  while (true) {
    rank.touched = false;
    rank.engine->drive_all();
    if (condition()) return true;
    if (!given_up_.ok() || deadline.passed(clock_.now())) return false;
    rank.wake_at = std::min(deadline.moment(), rank.engine->wake_at());
    pass_turn();
    rank.turn.acquire();
    rank.wake_at = TimePoint::max();
  }
}

void Simulation::Scheduler::schedule(Duration delay, std::function<void()> event) {
  events_.emplace(clock_.now() + delay, std::move(event));
}

// Gives the turn to a rank that has something to do, perhaps to the caller's own.
void Simulation::Scheduler::pass_turn() {
  const int next = choose_next();
  if (next < 0) {
    all_finished_.release();
  } else {
    ranks_[static_cast<std::size_t>(next)]->turn.release();
  }
}

int Simulation::Scheduler::choose_next() {
  while (true) {
    std::vector<int> ready;
    bool unfinished = false;
    for (int index = 0; index < options_.ranks; ++index) {
      const Rank& rank = *ranks_[static_cast<std::size_t>(index)];
      unfinished |= !rank.finished;
      const bool may_run = !given_up_.ok() || rank.touched || rank.wake_at <= clock_.now();
      if (!rank.finished && may_run) ready.push_back(index);
    }
    if (!unfinished) return -1;
    if (++steps_ > options_.step_limit) give_up("needs more than its limit of steps");
    // Ranks that are ready race with the next event; time passes by itself when none is.
    const bool event_first = !events_.empty() && random_.chance(kEventFirst);
    if (!ready.empty() && (!given_up_.ok() || !event_first)) {
      return ready[random_.below(ready.size())];
    }
    if (!ready.empty()) {
      fire_event();
    } else if (!advance_time()) {
      give_up("is stuck: every rank waits without a deadline and nothing is on its way");
    }
  }
}

void Simulation::Scheduler::give_up(std::string why) {
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
  for (const auto& rank : ranks_) {
    if (!rank->finished) wake = std::min(wake, rank->wake_at);
  }
  if (!events_.empty() && events_.begin()->first <= wake) {
    fire_event();
    return true;
  }
  if (wake == TimePoint::max()) return false;
  clock_.now_ = std::max(clock_.now_, wake);
  return true;
}

Simulation::Simulation(const Options& options) : scheduler_(std::make_unique<Scheduler>(options)) {
  PACELINE_ASSERT(options.ranks > 0);
}
Simulation::~Simulation() = default;

Status Simulation::run(FunctionRef<void(int, Engine&)> body) { return scheduler_->run(body); }
int Simulation::ranks() const { return scheduler_->options_.ranks; }
std::uint64_t Simulation::seed() const { return scheduler_->options_.seed; }
Engine& Simulation::engine(int rank) {
  return *scheduler_->ranks_[static_cast<std::size_t>(rank)]->engine;
}
const Clock& Simulation::clock() const { return scheduler_->clock_; }
Random& Simulation::random() { return scheduler_->random_; }
void Simulation::schedule(Duration delay, std::function<void()> event) {
  scheduler_->schedule(delay, std::move(event));
}
void Simulation::touch(int rank) {
  scheduler_->ranks_[static_cast<std::size_t>(rank)]->touched = true;
}

}  // namespace paceline
