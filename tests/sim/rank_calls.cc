#include "tests/sim/rank_calls.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "comm/bytes.h"
#include "tests/harness/elements.h"

namespace paceline::testing {
namespace {

// A call that has been made; its buffers stay until the communicator has ended it.
class Made {
 public:
  Made(const Call& call, std::size_t index, int rank)
      : call_(call),
        form_{.type = call.type, .op = call.op, .number = index},
        elements_(inputs_of(form_, rank, call.count)),
        result_(elements_) {
    if (!in_place(rank)) result_.fill([](std::size_t) { return kNothing; });
  }

  Status run(Communicator& world) {
    switch (call_.kind) {
      case OperationKind::kBroadcast:
        return world.broadcast(result_.data(), call_.count, call_.type, call_.root);
      case OperationKind::kAllReduce:
        return world.all_reduce(input(), result_.data(), call_.count, call_.type, call_.op);
      default:
        return world.barrier();
    }
  }

  void start(Communicator& world) {
    switch (call_.kind) {
      case OperationKind::kBroadcast:
        work_ = world.broadcast_async(result_.data(), call_.count, call_.type, call_.root);
        break;
      case OperationKind::kAllReduce:
        work_ = world.all_reduce_async(input(), result_.data(), call_.count, call_.type, call_.op);
        break;
      default:
        work_ = world.barrier_async();
        break;
    }
  }
  Status wait() const { return work_.wait(); }

  /// Which element is not what all ranks together make it; empty if none.
  std::string wrong(int ranks) const {
    const Elements right = call_.kind == OperationKind::kBroadcast
                               ? inputs_of(form_, call_.root, std::min(call_.count, kPeriod))
                               : reduced(form_, ranks, call_.count);
    const auto other = result_.first_other(right);
    if (!other) return {};
    return "element " + std::to_string(*other) + " is not " + right.text(*other);
  }

 private:
  static constexpr int kNothing = 123;  // no result is that

  bool in_place(int rank) const {
    return call_.kind == OperationKind::kBroadcast ? call_.root == rank : call_.in_place;
  }
  const void* input() { return call_.in_place ? result_.data() : elements_.data(); }

  const Call call_;
  const CallForm form_;
  Elements elements_;
  Elements result_;
  Work work_;
};

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
      made_.push_back(std::make_unique<Made>(calls[i], first + i, world_.rank()));
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
    if (has_result) outcome.wrong = made_[index]->wrong(world_.size());
  }

  Communicator& world_;
  const Clock& clock_;
  Order& order_;
  std::vector<std::unique_ptr<Made>> made_;
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
