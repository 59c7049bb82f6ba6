#include "tests/mixed/lane.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <sched.h>

#include "comm/base/random.h"
#include "comm/base/try.h"
#include "tests/harness/elements.h"
#include "tests/harness/message_trial.h"
#include "tests/harness/ranks.h"
#include "tests/mixed/act.h"

namespace paceline::testing::mixed {
namespace {

using Made = std::vector<std::unique_ptr<MadeCall>>;

constexpr std::uint64_t kMostCalls = 16;  // of an act
constexpr std::uint64_t kActsOfPart = 6;

// How a rank waits for a batch.
enum class Wait { kInOrder, kFromTheLast, kForAny, kForAll, kPolls, kForgets };
constexpr std::uint64_t kWaits = 6;

// The position of a rank in the communicator of its color.
int new_rank(const Act& act, int rank) {
  const auto at = [](const std::vector<int>& list, int index) {
    return list[static_cast<std::size_t>(index)];
  };
  int before = 0;
  for (int other = 0; other < static_cast<int>(act.keys.size()); ++other) {
    if (at(act.colors, other) != at(act.colors, rank)) continue;
    const int key = at(act.keys, other), own = at(act.keys, rank);
    if (key < own || (key == own && other < rank)) ++before;
  }
  return before;
}

class Lane {
 public:
  Lane(Port& port, const LaneOptions& options, std::uint64_t& operations)
      : port_(port),
        options_(options),
        operations_(operations),
        rank_(port.rank()),
        ranks_(port.size()),
        own_(0) {}

  Status run() {
    const ActForm form{
        .ranks = ranks_, .is_in_c = port_.is_in_c(), .may_split = options_.may_split};
    for (number_ = 0; number_ < options_.acts; ++number_) {
      const Act act = draw_act(drawn(options_.seed, {number_}), form);
      own_ = drawn(options_.seed, {number_, 1 + static_cast<std::uint64_t>(rank_)});
      if (options_.before && !options_.before(port_, number_)) return {};
      if (own_.below(50) == 0)
        for (std::uint64_t left = own_.below(200); left > 0; --left) ::sched_yield();
      if (const Status ended = finally(perform(act)); !ended.ok())
        return ended.with_context("act " + std::to_string(number_) + ", " + to_text(act, ranks_));
    }
    return finally(port_.close()).with_context("close");
  }

 private:
  // An error of the library is final.
  Status finally(Status ended) {
    if (ended.ok() || ended.code() == Code::kInternal) return ended;
    const Status later = port_.barrier();
    // A trial of messages adds words to it.
    if (later.code() == ended.code() && later.culprit() == ended.culprit() &&
        ended.text().ends_with(later.text()))
      return ended;
    return wrong("after \"" + ended.to_string() + "\" a barrier returned \"" + later.to_string() +
                 "\"");
  }

  Status perform(const Act& act) {
    switch (act.kind) {
      case Act::Kind::kCall:
        return call(act);
      case Act::Kind::kBatch:
        return batch(act);
      case Act::Kind::kMany:
        return many(act);
      case Act::Kind::kGroup:
        return group(act);
      case Act::Kind::kMessages:
        operations_ += 1;
        return run_message_trial({.rank = rank_, .ranks = ranks_, .seed = act.seed, .exchanges = 1},
                                 [&](auto messages) { return port_.exchange(messages); });
      case Act::Kind::kPair:
        return pair(act);
      case Act::Kind::kRefused:
        return refused(act);
      case Act::Kind::kSplit:
        return split(act);
    }
    return {};
  }

  std::unique_ptr<MadeCall> make(const Act& act, std::size_t index) {
    Call call = act.calls[index];
    call.in_place = own_.below(2) == 0;
    call.registered = own_.below(4) == 0;
    return std::make_unique<MadeCall>(call, number_ * kMostCalls + index, rank_, ranks_);
  }
  Made make_all(const Act& act) {
    Made made;
    for (std::size_t i = 0; i < act.calls.size(); ++i) made.push_back(make(act, i));
    return made;
  }
  Status judge(const Made& made) {
    operations_ += made.size();
    for (const auto& one : made) PACELINE_TRY(one->verdict());
    return {};
  }

  Status call(const Act& act) {
    Made made = make_all(act);
    const Call& call = act.calls.front();
    if (!port_.is_in_c() && own_.below(3) == 0) {
      made.front()->start(port_.world());
      PACELINE_TRY(made.front()->wait());
    } else {
      PACELINE_TRY(port_.run(call, *made.front()));
    }
    return judge(made);
  }

  Status batch(const Act& act) {
    Made made = make_all(act);
    const bool has_barrier = act.seed % 4 == 0;
    const auto wait = static_cast<Wait>(own_.below(kWaits));
    // Some that a rank starts in the background are blocking calls of another.
    std::vector<MadeCall*> started;
    Status ended;
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (own_.below(5) == 0) {
        const Status status = port_.run(act.calls[i], *made[i]);
        if (ended.ok()) ended = status;
      } else {
        made[i]->start(port_.world());
        started.push_back(made[i].get());
      }
    }
    const bool forgets = has_barrier && wait == Wait::kForgets;
    if (forgets)
      for (MadeCall* const one : started) one->forget_work();
    if (!forgets) {
      const Status waited = wait_for(started, wait);
      if (ended.ok()) ended = waited;
    }
    if (has_barrier) {
      const Status met = port_.barrier();
      if (ended.ok()) ended = met;
    }
    PACELINE_TRY(ended);
    return judge(made);
  }

  Status wait_for(const std::vector<MadeCall*>& started, Wait how) {
    std::vector<Work> works;
    for (const MadeCall* const one : started) works.push_back(one->work());
    Status ended;
    if (how == Wait::kFromTheLast)
      for (auto work = works.rbegin(); work != works.rend(); ++work) (void)work->wait();
    if (how == Wait::kForAny) ended = wait_for_any({works.rbegin(), works.rend()});
    if (how == Wait::kForAll) ended = wait_all(works);
    if (how == Wait::kPolls)
      for (const Work& work : works)
        while (!work.test()) (void)work.wait_for(std::chrono::microseconds(50));
    // In any case, since the memory of the calls goes away.
    const auto failed =
        std::ranges::find_if_not(works, [](const Work& w) { return w.wait().ok(); });
    const Status first = failed == works.end() ? Status() : failed->wait();
    if (how == Wait::kForAll && ended.to_string() != first.to_string())
      return wrong("wait_all returned \"" + ended.to_string() + "\"");
    return ended.code() == Code::kInternal ? ended : first;
  }

  // Operations end in their order, so the first that has ended is the last here.
  static Status wait_for_any(std::vector<Work> left) {
    Status ended;
    while (!left.empty()) {
      const std::size_t index = wait_any(left);
      if (index >= left.size() || !left[index].test())
        return wrong("wait_any returned " + std::to_string(index) + " of " +
                     std::to_string(left.size()));
      const Status status = left[index].wait();
      if (ended.ok()) ended = status;
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(index));
    }
    return wait_any(left) == 0 ? ended : wrong("wait_any of none");
  }

  Status many(const Act& act) {
    Made made = make_all(act);
    std::vector<Tensor> tensors;
    for (std::size_t i = 0; i < made.size(); ++i)
      tensors.push_back(
          {.in = made[i]->input(), .out = made[i]->output(), .count = act.calls[i].count});
    const DataType type = act.calls.front().type;
    const ReduceRule rule = made.front()->rule();
    Communicator& world = port_.world();
    PACELINE_TRY(own_.below(2) == 0 ? world.all_reduce_many(tensors, type, rule)
                                    : world.all_reduce_many_async(tensors, type, rule).wait());
    return judge(made);
  }

  Status group(const Act& act) {
    Made made = make_all(act);
    (void)plGroupStart();
    Status called;
    for (std::size_t i = 0; i < made.size() && called.ok(); ++i)
      called = port_.run(act.calls[i], *made[i]);
    const Status ended = port_.status_of(plGroupEnd());
    PACELINE_TRY(ended);
    PACELINE_TRY(called);
    return judge(made);
  }

  Status pair(const Act& act) {
    const Call& call = act.calls.front();
    const std::size_t bytes = call.count * size_of(call.type);
    const Elements right = inputs_of({.type = call.type, .number = number_}, act.from, call.count);
    if (rank_ != act.from && rank_ != act.to) return {};
    ++operations_;
    CallMemory memory;
    memory.assign(bytes, std::byte{}, Call{.registered = own_.below(4) == 0});
    if (rank_ == act.from) {
      if (bytes > 0) std::memcpy(memory.data(), right.data(), bytes);
      return port_.send(memory.data(), call.count, call.type, act.to);
    }
    PACELINE_TRY(port_.receive(memory.data(), call.count, call.type, act.from));
    if (std::memcmp(memory.data(), right.data(), bytes) == 0) return {};
    return wrong("a message is wrong");
  }

  Status refused(const Act& act) {
    float value = 0;
    const Status status = act.seed % 2 == 0 ? port_.broadcast(&value, 1, DataType::kFloat32, ranks_)
                                            : port_.broadcast(nullptr, 5, DataType::kFloat32, 0);
    if (status.code() == Code::kInvalidArgument) return {};
    return status.ok() ? wrong("a wrong call succeeded") : status;
  }

  Status split(const Act& act) {
    const auto self = static_cast<std::size_t>(rank_);
    operations_ += 2;
    PACELINE_TRY_ASSIGN(auto part, port_.split(act.colors[self], act.keys[self]));
    if (part.has_value() != (act.colors[self] != kNoColor)) return wrong("a part that is none");
    if (!part) return {};
    if (part->size() != std::ranges::count(act.colors, act.colors[self]) ||
        part->rank() != new_rank(act, rank_))
      return wrong("rank " + std::to_string(part->rank()) + " of " + std::to_string(part->size()));
    const auto color = static_cast<std::uint64_t>(act.colors[self]);
    const LaneOptions options{.seed = act.seed + color, .acts = 1 + act.seed % kActsOfPart};
    const Status ended = run_lane(*part, options, operations_);
    return ended.ok() ? ended : wrong("in the part: " + ended.to_string());
  }

  Port& port_;
  const LaneOptions& options_;
  std::uint64_t& operations_;
  const int rank_, ranks_;
  std::uint64_t number_ = 0;
  Random own_;
};

}  // namespace

Status run_lane(Port& port, const LaneOptions& options, std::uint64_t& operations) {
  return Lane(port, options, operations).run();
}

}  // namespace paceline::testing::mixed
