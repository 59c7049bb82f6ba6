#include "tests/harness/plan_mutation.h"

#include <algorithm>
#include <map>
#include <utility>

#include "collectives/plan/text.h"
#include "tests/harness/plan_form.h"

namespace paceline::testing {
namespace {

std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

// A plan whose steps can be taken out and put in: dependencies are names, not places.
class Draft {
 public:
  struct Entry {
    Step step;
    StepId name;
    std::vector<StepId> waits_for;
  };

  explicit Draft(const Plan& plan) : plan_(plan) {
    for (StepId id = 0; id < plan.steps.size(); ++id) {
      const auto waits_for = plan.dependencies_of(plan.steps[id]);
      entries.push_back({plan.steps[id], id, {waits_for.begin(), waits_for.end()}});
    }
  }

  /// Dependencies on steps that are gone or stand later are left out.
  Plan plan() const {
    Plan made = plan_;
    made.steps.clear();
    made.dependencies.clear();
    std::map<StepId, StepId> place_of;
    for (const Entry& entry : entries) {
      Step step = entry.step;
      step.first_dependency = static_cast<std::uint32_t>(made.dependencies.size());
      for (const StepId name : entry.waits_for) {
        if (const auto place = place_of.find(name); place != place_of.end()) {
          made.dependencies.push_back(place->second);
        }
      }
      step.dependency_count =
          static_cast<std::uint32_t>(made.dependencies.size()) - step.first_dependency;
      place_of.emplace(entry.name, static_cast<StepId>(made.steps.size()));
      made.steps.push_back(step);
    }
    return made;
  }

  std::vector<Entry> entries;

 private:
  const Plan& plan_;
};

// Some picks leave no choice, such as a peer that is drawn again.
constexpr int kTries = 16;

struct Place {
  int rank;
  StepId step;
};

class Mutator {
 public:
  Mutator(std::vector<Plan>& plans, Random& random) : plans_(plans), random_(random) {}

  bool apply(MutationClass what) {
    switch (what) {
      case MutationClass::kDropped:
        return drop();
      case MutationClass::kDoubled:
        return repeat();
      case MutationClass::kMoved:
        return move();
      case MutationClass::kPeer:
        return change_peer();
      case MutationClass::kOffset:
        return shift();
      case MutationClass::kLength:
        return change_length();
      case MutationClass::kOrder:
        return swap_messages();
      case MutationClass::kDependency:
        return forget_dependency();
      case MutationClass::kBuffer:
        return change_buffer();
    }
    return false;
  }

  const std::string& words() const { return words_; }

 private:
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(random_.below(bound)); }
  Step& step(Place at) { return plans_[index(at.rank)].steps[at.step]; }

  /// A step for which `fits` holds, each with the same chance.
  template <class Fits>
  std::optional<Place> pick(Fits fits) {
    std::vector<Place> places;
    for (const Plan& plan : plans_) {
      for (StepId id = 0; id < plan.steps.size(); ++id) {
        if (fits(plan.steps[id])) places.push_back({plan.rank, id});
      }
    }
    if (places.empty()) return std::nullopt;
    const Place chosen = places[below(places.size())];
    words_ = std::string("rank ") + std::to_string(chosen.rank) + ", step " +
             std::to_string(chosen.step) + " (" +
             describe(plans_[index(chosen.rank)], step(chosen)) + ")";
    return chosen;
  }

  /// The step, and half of the time also the other end of its message.
  std::vector<Place> with_other_end(Place at) {
    const Step& own = step(at);
    if (!is_message(own) || random_.chance(0.5)) return {at};
    const auto in_channel = [&](const Step& each, StepKind kind, int peer) {
      return each.kind == kind && each.peer == peer;
    };
    std::size_t k = 0;
    for (StepId id = 0; id < at.step; ++id) {
      if (in_channel(step({at.rank, id}), own.kind, own.peer)) ++k;
    }
    const StepKind other = own.kind == StepKind::kSend ? StepKind::kRecv : StepKind::kSend;
    const Plan& there = plans_[index(own.peer)];
    for (StepId id = 0; id < there.steps.size(); ++id) {
      if (!in_channel(there.steps[id], other, at.rank)) continue;
      if (k-- == 0) {
        words_ += ", both ends";
        return {at, {own.peer, id}};
      }
    }
    return {at};
  }

  template <class Change>
  void edit(int rank, Change change) {
    Draft draft(plans_[index(rank)]);
    change(draft.entries);
    Plan changed = draft.plan();
    plans_[index(rank)] = std::move(changed);
  }

  static auto at(std::vector<Draft::Entry>& entries, std::size_t place) {
    return entries.begin() + static_cast<std::ptrdiff_t>(place);
  }

  bool drop() {
    const auto chosen = pick([](const Step&) { return true; });
    if (!chosen) return false;
    const bool heirs = random_.chance(0.5);  // do its followers wait for what it waited for?
    words_ += heirs ? ", its dependencies go to its followers" : "";
    for (const Place place : with_other_end(*chosen)) {
      edit(place.rank, [&](std::vector<Draft::Entry>& entries) {
        const Draft::Entry gone = entries[place.step];
        for (Draft::Entry& entry : entries) {
          if (!heirs || std::erase(entry.waits_for, gone.name) == 0) continue;
          entry.waits_for.insert(entry.waits_for.end(), gone.waits_for.begin(),
                                 gone.waits_for.end());
        }
        entries.erase(at(entries, place.step));
      });
    }
    return true;
  }

  bool repeat() {
    const auto chosen = pick([](const Step&) { return true; });
    if (!chosen) return false;
    const bool in_turn = random_.chance(0.5);
    words_ += in_turn ? ", one after the other" : ", side by side";
    for (const Place place : with_other_end(*chosen)) {
      edit(place.rank, [&](std::vector<Draft::Entry>& entries) {
        Draft::Entry again = entries[place.step];
        const StepId first = again.name;
        again.name = static_cast<StepId>(entries.size());
        for (Draft::Entry& entry : entries) {
          const auto& names = entry.waits_for;
          const bool follows = std::find(names.begin(), names.end(), first) != names.end();
          if (in_turn && follows) entry.waits_for.push_back(again.name);
        }
        if (in_turn) again.waits_for.push_back(first);
        entries.insert(at(entries, place.step) + 1, again);
      });
    }
    return true;
  }

  bool move() {
    const auto chosen = pick([](const Step&) { return true; });
    if (!chosen) return false;
    const std::size_t steps = plans_[index(chosen->rank)].steps.size();
    if (steps < 2) return false;
    std::size_t to = below(steps - 1);
    if (to >= chosen->step) ++to;
    words_ += ", moved to place " + std::to_string(to);
    edit(chosen->rank, [&](std::vector<Draft::Entry>& entries) {
      const Draft::Entry moved = entries[chosen->step];
      entries.erase(at(entries, chosen->step));
      entries.insert(at(entries, to), moved);
    });
    return true;
  }

  bool change_peer() {
    const auto chosen = pick(is_message);
    if (!chosen) return false;
    Step& own = step(*chosen);
    // One beyond the last, too.
    const int peer = static_cast<int>(below(plans_.size() + 1));
    if (peer == own.peer) return false;
    own.peer = peer;
    words_ += ", with rank " + std::to_string(peer) + " instead";
    return true;
  }

  Span& pick_span(Place at) {
    Step& own = step(at);
    switch (own.kind) {
      case StepKind::kSend:
        return own.from;
      case StepKind::kRecv:
        return own.target;
      case StepKind::kCopy:
        return random_.chance(0.5) ? own.from : own.target;
      case StepKind::kReduce:
        break;
    }
    const std::size_t place = below(own.operand_count + std::size_t{1});
    if (place == own.operand_count) return own.target;
    return plans_[index(at.rank)].operands[own.first_operand + place];
  }

  // By a little or to anywhere in the first `bound`; never by nothing.
  std::size_t other_number(std::size_t number, std::size_t bound) {
    const std::size_t far = below(bound + 2);
    if (random_.chance(0.5) && far != number) return far;
    return number > 0 && random_.chance(0.5) ? number - 1 : number + 1;
  }

  static std::size_t longest_buffer(const Plan& plan) {
    return std::max(plan.shape.input_count, plan.shape.output_count);
  }

  bool shift() {
    const auto chosen = pick([](const Step& each) { return each.count > 0; });
    if (!chosen) return false;
    Span& span = pick_span(*chosen);
    span.offset = other_number(span.offset, longest_buffer(plans_[index(chosen->rank)]));
    words_ += ", now " + describe(plans_[index(chosen->rank)], step(*chosen));
    return true;
  }

  bool change_length() {
    const auto chosen = pick([](const Step&) { return true; });
    if (!chosen) return false;
    const std::size_t count = other_number(step(*chosen).count, 2 * step(*chosen).count);
    for (const Place place : with_other_end(*chosen)) step(place).count = count;
    words_ += ", now of count " + std::to_string(count);
    return true;
  }

  bool swap_messages() {
    const auto chosen = pick(is_message);
    if (!chosen) return false;
    std::vector<StepId> others;
    const Plan& plan = plans_[index(chosen->rank)];
    for (StepId id = 0; id < plan.steps.size(); ++id) {
      const Step& each = plan.steps[id];
      if (id != chosen->step && each.kind == step(*chosen).kind &&
          each.peer == step(*chosen).peer) {
        others.push_back(id);
      }
    }
    if (others.empty()) return false;
    const StepId other = others[below(others.size())];
    words_ += ", changes places with step " + std::to_string(other);
    edit(chosen->rank, [&](std::vector<Draft::Entry>& entries) {
      std::swap(entries[chosen->step], entries[other]);
    });
    return true;
  }

  bool forget_dependency() {
    const auto chosen = pick([](const Step& each) { return each.dependency_count > 0; });
    if (!chosen) return false;
    edit(chosen->rank, [&](std::vector<Draft::Entry>& entries) {
      auto& names = entries[chosen->step].waits_for;
      const std::size_t lost = below(names.size());
      words_ += ", no longer after step " + std::to_string(names[lost]);
      names.erase(names.begin() + static_cast<std::ptrdiff_t>(lost));
    });
    return true;
  }

  bool change_buffer() {
    const auto chosen = pick([](const Step& each) { return each.count > 0; });
    if (!chosen) return false;
    Span& span = pick_span(*chosen);
    const auto further = static_cast<unsigned>(span.buffer) + 1 + static_cast<unsigned>(below(2));
    span.buffer = static_cast<PlanBuffer>(further % 3);
    words_ += ", now " + describe(plans_[index(chosen->rank)], step(*chosen));
    return true;
  }

  std::vector<Plan>& plans_;
  Random& random_;
  std::string words_;
};

}  // namespace

std::string_view name(MutationClass what) {
  switch (what) {
    case MutationClass::kDropped:
      return "dropped";
    case MutationClass::kDoubled:
      return "doubled";
    case MutationClass::kMoved:
      return "moved";
    case MutationClass::kPeer:
      return "peer";
    case MutationClass::kOffset:
      return "offset";
    case MutationClass::kLength:
      return "length";
    case MutationClass::kOrder:
      return "order";
    case MutationClass::kDependency:
      return "dependency";
    case MutationClass::kBuffer:
      return "buffer";
  }
  return "unknown class";
}

std::optional<std::string> mutate(std::vector<Plan>& plans, MutationClass what, Random& random) {
  Mutator mutator(plans, random);
  for (int i = 0; i < kTries; ++i) {
    if (mutator.apply(what)) return mutator.words();
  }
  return std::nullopt;
}

}  // namespace paceline::testing
