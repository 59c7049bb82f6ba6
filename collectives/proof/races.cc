#include "collectives/proof/races.h"

#include <array>
#include <string>
#include <vector>

#include "collectives/plan/accesses.h"
#include "collectives/plan/matching.h"
#include "collectives/plan/text.h"
#include "comm/base/try.h"

namespace paceline {
namespace {

class Ancestry {
 public:
  explicit Ancestry(const Plan& plan) : plan_(plan), seen_by_(plan.steps.size(), 0) {}

  /// Does `after` begin only when `before` has ended?
  bool ordered(StepId before, StepId after) {
    ++search_;
    open_.assign(1, after);
    while (!open_.empty()) {
      const Step& step = plan_.steps[open_.back()];
      open_.pop_back();
      for (const StepId id : plan_.dependencies_of(step)) {
        if (id == before) return true;
        if (id < before || seen_by_[id] == search_) continue;
        seen_by_[id] = search_;
        open_.push_back(id);
      }
    }
    return false;
  }

 private:
  const Plan& plan_;
  std::vector<std::uint64_t> seen_by_;  // the last search that came by, by step
  std::uint64_t search_ = 0;
  std::vector<StepId> open_;
};

struct Users {
  StepId writer = kNoStep;
  std::vector<StepId> readers;  // since the writer
};

class RaceCheck {
 public:
  explicit RaceCheck(const Plan& plan) : plan_(plan), ancestry_(plan) {}

  Status run() {
    for (StepId id = 0; id < plan_.steps.size(); ++id) {
      const std::vector<Access> accesses = accesses_of(plan_, plan_.steps[id]);
      for (const Access& access : accesses) {
        PACELINE_TRY(check(id, access));
      }
      for (const Access& access : accesses) record(id, access);
    }
    return {};
  }

 private:
  IntervalMap<Users>& users(const Access& access) {
    return users_[static_cast<std::size_t>(access.memory)];
  }

  Status check(StepId id, const Access& access) {
    StepId racing = kNoStep;
    std::size_t element = 0;
    users(access).visit(access.elements, [&](Interval range, const Users& earlier) {
      const auto ask = [&](StepId before) {
        if (racing != kNoStep || before == kNoStep || ancestry_.ordered(before, id)) return;
        racing = before;
        element = range.begin;
      };
      // The readers are known to follow the writer: where there are some, they speak for it.
      if (!access.writes || earlier.readers.empty()) return ask(earlier.writer);
      for (const StepId reader : earlier.readers) ask(reader);
    });
    if (racing == kNoStep) return {};
    const char* memory = access.memory == Memory::kScratch ? "scratch[" : "input or output[";
    return defect(plan_, id,
                  "races with step " + std::to_string(racing) + " (" +
                      describe(plan_, plan_.steps[racing]) + ") for " + memory +
                      std::to_string(element) + "]: no dependency orders them");
  }

  void record(StepId id, const Access& access) {
    if (access.writes) {
      users(access).assign(access.elements, Users{.writer = id, .readers = {}});
    } else {
      users(access).update(access.elements, [&](Users& each) { each.readers.push_back(id); });
    }
  }

  const Plan& plan_;
  Ancestry ancestry_;
  std::array<IntervalMap<Users>, kMemories> users_;
};

}  // namespace

Status check_races(const Plan& plan) { return RaceCheck(plan).run(); }

}  // namespace paceline
