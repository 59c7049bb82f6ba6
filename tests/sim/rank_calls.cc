#include "tests/sim/rank_calls.h"

#include <memory>
#include <utility>

#include "tests/harness/calls.h"

namespace paceline::testing {
namespace {

class Caller {
 public:
  Caller(Communicator& world, const Clock& clock, Order& order)
      : world_(world), clock_(clock), order_(order) {}

  std::vector<CallOutcome> run(const std::vector<Call>& calls) {
    make(calls, 0);
    begin(outcomes_.emplace_back());
    end(calls.size(), [&] { return world_.close(); });
    return std::move(outcomes_);
  }

  std::vector<CallOutcome> run_round(const std::vector<Call>& calls, std::size_t first) {
    make(calls, first);
    return std::move(outcomes_);
  }

 private:
  void make(const std::vector<Call>& calls, std::size_t first) {
    outcomes_.resize(calls.size());
    for (std::size_t i = 0; i < calls.size(); ++i) {
      made_.push_back(
          std::make_unique<MadeCall>(calls[i], first + i, world_.rank(), world_.size()));
    }
    for (std::size_t i = 0; i < calls.size(); ++i) {
      begin(outcomes_[i]);
      if (calls[i].asynchronous) {
        made_[i]->start(world_);
      } else {
        end(i, [&] { return made_[i]->run(world_); });
      }
    }
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (calls[i].asynchronous) end(i, [&] { return made_[i]->wait(); });
    }
  }

  void begin(CallOutcome& outcome) {
    outcome.began_at = clock_.now();
    outcome.begun = ++order_;
  }
  void end(std::size_t index, FunctionRef<Status()> wait) {
    CallOutcome& outcome = outcomes_[index];
    outcome.asked_at = clock_.now();
    outcome.status = wait();
    outcome.ended = ++order_;
    outcome.ended_at = clock_.now();
    const bool has_result = outcome.status.ok() && index < made_.size();
    if (has_result) outcome.wrong = made_[index]->wrong();
  }

  Communicator& world_;
  const Clock& clock_;
  Order& order_;
  std::vector<std::unique_ptr<MadeCall>> made_;
  std::vector<CallOutcome> outcomes_;
};

}  // namespace

std::vector<CallOutcome> make_calls(Communicator& world, const std::vector<Call>& calls,
                                    const Clock& clock, Order& order) {
  return Caller(world, clock, order).run(calls);
}

std::vector<CallOutcome> make_round(Communicator& world, const std::vector<Call>& calls,
                                    std::size_t first, const Clock& clock) {
  Order order{0};
  return Caller(world, clock, order).run_round(calls, first);
}

}  // namespace paceline::testing
