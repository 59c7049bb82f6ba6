#include "tests/harness/plan_interpreter.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "tests/harness/plan_form.h"

namespace paceline::testing {
namespace {

using Word = std::uint64_t;
using Words = std::vector<Word>;

std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

struct Buffers {
  Words input;   // in place: input and output
  Words output;  // not used in place
  Words scratch;
};

class Interpreter {
 public:
  Interpreter(std::span<const Plan> plans, const Schedule& schedule, Random random)
      : plans_(plans), schedule_(schedule), random_(random) {
    for (const Plan& plan : plans) {
      const Shape& shape = plan.shape;
      const std::size_t user =
          std::max(shape.input_at + shape.input_count, shape.output_at + shape.output_count);
      buffers_.push_back({noise(schedule.in_place ? user : shape.input_count),
                          noise(shape.output_count), noise(plan.scratch_count)});
      ranks_.emplace_back(plan.steps.size());
    }
  }

  Words input(int rank) {
    const Word* const begin = at(rank, {PlanBuffer::kInput, 0});
    return {begin, begin + shape(rank).input_count};
  }
  Words output(int rank) {
    const Word* const begin = at(rank, {PlanBuffer::kOutput, 0});
    return {begin, begin + shape(rank).output_count};
  }
  bool ended(int rank) const { return ranks_[index(rank)].left == 0; }

  /// Finds the other end of each message; what goes wrong here needs no running.
  std::optional<std::string> prepare() {
    std::map<std::pair<int, int>, std::pair<std::vector<StepId>, std::vector<StepId>>> channels;
    for (const Plan& plan : plans_) {
      for (StepId id = 0; id < plan.steps.size(); ++id) {
        const Step& step = plan.steps[id];
        if (!fits(plan, step)) return "a step reaches beyond its buffer";
        if (!is_message(step)) continue;
        if (step.peer < 0 || step.peer >= plan.ranks || step.peer == plan.rank)
          return "no such peer";
        const bool sends = step.kind == StepKind::kSend;
        auto& channel =
            channels[sends ? std::pair(plan.rank, step.peer) : std::pair(step.peer, plan.rank)];
        (sends ? channel.first : channel.second).push_back(id);
      }
    }
    for (const auto& [pair, channel] : channels) {
      const auto& [sends, recvs] = channel;
      if (sends.size() != recvs.size()) return "a message has one end only";
      for (std::size_t k = 0; k < sends.size(); ++k) {
        State& send = ranks_[index(pair.first)].steps[sends[k]];
        State& recv = ranks_[index(pair.second)].steps[recvs[k]];
        if (count(pair.first, sends[k]) != count(pair.second, recvs[k])) return "counts differ";
        send.other = recvs[k];
        recv.other = sends[k];
        if (k > 0) send.previous = sends[k - 1], recv.previous = recvs[k - 1];
      }
    }
    return std::nullopt;
  }

  /// Runs until nothing more can happen. A rank that is held does not begin.
  void run(int held) {
    for (const Plan& plan : plans_) {
      if (plan.rank != held) look_at(plan.rank);
    }
    while (!ready_.empty()) {
      const std::size_t pick = static_cast<std::size_t>(random_.below(ready_.size()));
      const Event event = std::exchange(ready_[pick], ready_.back());
      ready_.pop_back();
      happen(event);
      look_at(event.rank);
      const Step& done = step(event.rank, event.step);
      if (is_message(done) && done.peer != held) look_at(done.peer);
    }
  }

 private:
  enum class Phase : std::uint8_t { kWaiting, kBegun, kEnded };
  struct State {
    Phase phase = Phase::kWaiting;
    bool queued = false;  // its next event stands in ready_
    bool early = false;   // reads at its begin
    StepId other = 0;     // the other end of the message
    StepId previous = kNone;
    Words value;  // what it has read
  };
  struct RankState {
    explicit RankState(std::size_t size) : steps(size), left(size) {}
    std::vector<State> steps;
    std::size_t left;
    std::size_t first = 0;  // all steps before it have ended
  };
  struct Event {
    int rank;
    StepId step;
  };
  static constexpr StepId kNone = ~StepId{0};

  Words noise(std::size_t size) {
    Words words(size);
    for (Word& word : words) word = random_.next();
    return words;
  }
  const Shape& shape(int rank) const { return plans_[index(rank)].shape; }
  const Step& step(int rank, StepId id) const { return plans_[index(rank)].steps[id]; }
  State& state(int rank, StepId id) { return ranks_[index(rank)].steps[id]; }
  std::size_t count(int rank, StepId id) const { return step(rank, id).count; }

  static bool fits(const Plan& plan, const Step& step) {
    const auto within = [&](const Span& span) {
      const std::size_t size = span.buffer == PlanBuffer::kInput    ? plan.shape.input_count
                               : span.buffer == PlanBuffer::kOutput ? plan.shape.output_count
                                                                    : plan.scratch_count;
      return span.offset <= size && step.count <= size - span.offset;
    };
    const auto operands = plan.operands_of(step);
    const bool reads_one = step.kind == StepKind::kSend || step.kind == StepKind::kCopy;
    return (!reads_one || within(step.from)) &&
           (step.kind == StepKind::kSend || within(step.target)) &&
           std::all_of(operands.begin(), operands.end(), within);
  }

  Word* at(int rank, const Span& span) {
    Buffers& buffers = buffers_[index(rank)];
    switch (span.buffer) {
      case PlanBuffer::kInput:
        return buffers.input.data() + (schedule_.in_place ? shape(rank).input_at : 0) + span.offset;
      case PlanBuffer::kOutput:
        if (!schedule_.in_place) return buffers.output.data() + span.offset;
        return buffers.input.data() + shape(rank).output_at + span.offset;
      case PlanBuffer::kScratch:
        break;
    }
    return buffers.scratch.data() + span.offset;
  }

  // Queues what can happen next to the steps of a rank.
  void look_at(int rank) {
    RankState& own = ranks_[index(rank)];
    while (own.first < own.steps.size() && own.steps[own.first].phase == Phase::kEnded) ++own.first;
    for (std::size_t i = own.first; i < own.steps.size(); ++i) {
      const StepId id = static_cast<StepId>(i);
      State& each = own.steps[i];
      if (each.queued || each.phase == Phase::kEnded) continue;
      if (each.phase == Phase::kWaiting ? !may_begin(rank, id) : !may_end(rank, id)) continue;
      each.queued = true;
      ready_.push_back({rank, id});
    }
  }

  bool may_begin(int rank, StepId id) {
    for (const StepId dependency : plans_[index(rank)].dependencies_of(step(rank, id))) {
      if (dependency >= ranks_[index(rank)].steps.size()) return false;
      if (state(rank, dependency).phase != Phase::kEnded) return false;
    }
    const StepId previous = state(rank, id).previous;
    if (previous == kNone) return true;
    const Phase phase = state(rank, previous).phase;
    return phase == Phase::kEnded || (schedule_.messages_overlap && phase == Phase::kBegun);
  }

  bool may_end(int rank, StepId id) {
    const Step& own = step(rank, id);
    if (!is_message(own)) return true;
    const State& other = state(own.peer, state(rank, id).other);
    if (own.kind == StepKind::kSend) {
      return !schedule_.synchronous_sends || other.phase != Phase::kWaiting;
    }
    return other.phase == Phase::kEnded || (other.phase == Phase::kBegun && other.early);
  }

  void happen(Event event) {
    State& each = state(event.rank, event.step);
    each.queued = false;
    if (each.phase == Phase::kWaiting) {
      each.phase = Phase::kBegun;
      begin(event.rank, event.step);
    } else {
      each.phase = Phase::kEnded;
      --ranks_[index(event.rank)].left;
      end(event.rank, event.step);
    }
  }

  void begin(int rank, StepId id) {
    const Step& own = step(rank, id);
    State& each = state(rank, id);
    if (onto_itself(rank, own)) return;
    each.early = random_.chance(0.5);
    if (each.early && own.kind != StepKind::kRecv) read(rank, id);
    const bool reads_later = own.kind != StepKind::kRecv && !each.early;
    if (own.kind == StepKind::kSend || reads_later) return;
    for (std::size_t i = 0; i < own.count; ++i) at(rank, own.target)[i] = random_.next();
  }

  void end(int rank, StepId id) {
    const Step& own = step(rank, id);
    State& each = state(rank, id);
    if (onto_itself(rank, own)) return;
    if (own.kind != StepKind::kRecv && !each.early) read(rank, id);
    if (own.kind == StepKind::kSend) return;
    const Words& value =
        own.kind == StepKind::kRecv ? state(own.peer, each.other).value : each.value;
    std::copy(value.begin(), value.end(), at(rank, own.target));
  }

  void read(int rank, StepId id) {
    const Step& own = step(rank, id);
    Words& value = state(rank, id).value;
    if (own.kind != StepKind::kReduce) {
      value.assign(at(rank, own.from), at(rank, own.from) + own.count);
      return;
    }
    value.assign(own.count, 0);
    for (const Span& operand : plans_[index(rank)].operands_of(own)) {
      for (std::size_t i = 0; i < own.count; ++i) value[i] += at(rank, operand)[i];
    }
  }

  bool onto_itself(int rank, const Step& each) {
    return each.kind == StepKind::kCopy && at(rank, each.from) == at(rank, each.target);
  }

  std::span<const Plan> plans_;
  Schedule schedule_;
  Random random_;
  std::vector<Buffers> buffers_;
  std::vector<RankState> ranks_;
  std::vector<Event> ready_;
};

constexpr int kNobody = -1;

Words expected_output(const std::vector<PlanRequest>& requests, int rank,
                      const std::vector<Words>& inputs) {
  Words expected;
  for (const Origin& origin : origins_of(requests, rank)) {
    for (std::size_t i = 0; i < origin.count; ++i) {
      Word& sum = expected.emplace_back(0);
      for (std::size_t from = 0; from < inputs.size(); ++from) {
        if (origin.rank != Origin::kEveryRank && index(origin.rank) != from) continue;
        sum += inputs[from][origin.input_begin + i];
      }
    }
  }
  return expected;
}

std::string rank_text(int rank) { return std::string("rank ").append(std::to_string(rank)); }

}  // namespace

std::optional<std::string> run_plans(std::span<const Plan> plans,
                                     const std::vector<PlanRequest>& requests,
                                     const Schedule& schedule, Random random) {
  Interpreter interpreter(plans, schedule, random);
  std::vector<Words> inputs;
  for (const Plan& plan : plans) inputs.push_back(interpreter.input(plan.rank));
  if (auto wrong = interpreter.prepare()) return wrong;
  interpreter.run(kNobody);
  for (const Plan& plan : plans) {
    if (!interpreter.ended(plan.rank)) return rank_text(plan.rank) + " never ends";
    if (interpreter.output(plan.rank) != expected_output(requests, plan.rank, inputs))
      return rank_text(plan.rank) + " has a wrong result";
    if (!schedule.in_place && interpreter.input(plan.rank) != inputs[index(plan.rank)]) {
      return rank_text(plan.rank) + " has changed its input";
    }
  }
  return std::nullopt;
}

std::optional<std::string> run_barrier(std::span<const Plan> plans, const Schedule& schedule,
                                       Random random) {
  for (int held = kNobody; held < static_cast<int>(plans.size()); ++held) {
    Interpreter interpreter(plans, schedule, random.fork());
    if (auto wrong = interpreter.prepare()) return wrong;
    interpreter.run(held);
    for (const Plan& plan : plans) {
      if (plan.rank == held || interpreter.ended(plan.rank) == (held == kNobody)) continue;
      if (held == kNobody) return rank_text(plan.rank) + " never ends";
      return rank_text(plan.rank) + " ends before " + rank_text(held) + " has begun";
    }
  }
  return std::nullopt;
}

std::optional<std::string> run_often(std::span<const Plan> plans,
                                     const std::vector<PlanRequest>& requests, int runs,
                                     Random random) {
  for (int run = 0; run < runs; ++run) {
    const Schedule schedule{.in_place = run % 2 == 1,
                            .synchronous_sends = run / 2 % 2 == 1,
                            .messages_overlap = run / 4 % 2 == 1};
    auto wrong = requests.front().kind == OperationKind::kBarrier
                     ? run_barrier(plans, schedule, random.fork())
                     : run_plans(plans, requests, schedule, random.fork());
    if (wrong) return wrong;
  }
  return std::nullopt;
}

}  // namespace paceline::testing
