// That the model is as weak as the memory model and no weaker, by the usual small programs.
#include "tests/interleave/model.h"

#include <set>

#include <gtest/gtest.h>

#include "tests/interleave/search.h"

namespace paceline::testing {
namespace {

constexpr std::size_t kX = 0, kY = 1;

// Two threads, each a list of steps; what the second or both have loaded in the end is collected.
class Litmus {
 public:
  enum class Kind { kStoreRelaxed, kStoreRelease, kLoadRelaxed, kLoadAcquire, kFence };
  struct Step {
    Kind kind;
    std::size_t location = 0;
  };
  using Outcomes = std::set<std::vector<std::uint64_t>>;

  Litmus(std::vector<std::vector<Step>> programs, Outcomes* outcomes)
      : programs_(std::move(programs)), memory_(2, 2, 0), next_(2, 0), outcomes_(outcomes) {}

  int threads() const { return 2; }
  bool ended() const { return next_[0] == programs_[0].size() && next_[1] == programs_[1].size(); }
  bool step(int thread, Choices& choices) {
    const auto place = static_cast<std::size_t>(thread);
    if (next_[place] == programs_[place].size()) return false;
    const Step step = programs_[place][next_[place]++];
    switch (step.kind) {
      case Kind::kStoreRelaxed:
        memory_.store_relaxed(thread, step.location, 1);
        break;
      case Kind::kStoreRelease:
        memory_.store_release(thread, step.location, 1);
        break;
      case Kind::kLoadRelaxed:
      case Kind::kLoadAcquire:
        load(thread, step, choices);
        break;
      case Kind::kFence:
        memory_.fence_seq_cst(thread);
        break;
    }
    if (ended()) {
      std::vector<std::uint64_t> all = loaded_[0];
      all.insert(all.end(), loaded_[1].begin(), loaded_[1].end());
      outcomes_->insert(all);
    }
    return true;
  }
  std::string key() const {
    std::string key;
    memory_.append_key(key);
    for (const auto& values : loaded_) {
      for (const std::uint64_t value : values) key += static_cast<char>('0' + value);
      key += '|';
    }
    for (const std::size_t next : next_) key += static_cast<char>(next);
    return key;
  }

 private:
  void load(int thread, const Step& step, Choices& choices) {
    const std::size_t place = choices.pick_visible(memory_, thread, step.location);
    loaded_[thread].push_back(step.kind == Kind::kLoadAcquire
                                  ? memory_.load_acquire(thread, step.location, place)
                                  : memory_.load_relaxed(thread, step.location, place));
  }

  std::vector<std::vector<Step>> programs_;
  ModelMemory memory_;
  std::vector<std::size_t> next_;
  std::vector<std::uint64_t> loaded_[2];
  Outcomes* outcomes_;
};

using Kind = Litmus::Kind;

Litmus::Outcomes outcomes_of(std::vector<std::vector<Litmus::Step>> programs) {
  Litmus::Outcomes outcomes;
  const SearchResult result = search(Litmus(std::move(programs), &outcomes), 100'000);
  EXPECT_TRUE(result.complete);
  EXPECT_EQ(result.fault, "");
  return outcomes;
}

// x = 1; y = 1 || a = y; b = x: with release and acquire, a = 1 and b = 0 is impossible.
TEST(Model, MessagePassing) {
  const auto strong = outcomes_of({{{Kind::kStoreRelaxed, kX}, {Kind::kStoreRelease, kY}},
                                   {{Kind::kLoadAcquire, kY}, {Kind::kLoadRelaxed, kX}}});
  EXPECT_EQ(strong, (Litmus::Outcomes{{0, 0}, {0, 1}, {1, 1}}));
  const auto weak = outcomes_of({{{Kind::kStoreRelaxed, kX}, {Kind::kStoreRelaxed, kY}},
                                 {{Kind::kLoadAcquire, kY}, {Kind::kLoadRelaxed, kX}}});
  EXPECT_TRUE(weak.contains({1, 0}));
}

// x = 1; a = y || y = 1; b = x: only fences between forbid that both load 0.
TEST(Model, StoreBuffering) {
  const auto weak = outcomes_of({{{Kind::kStoreRelease, kX}, {Kind::kLoadAcquire, kY}},
                                 {{Kind::kStoreRelease, kY}, {Kind::kLoadAcquire, kX}}});
  EXPECT_TRUE(weak.contains({0, 0}));
  const auto strong =
      outcomes_of({{{Kind::kStoreRelaxed, kX}, {Kind::kFence}, {Kind::kLoadRelaxed, kY}},
                   {{Kind::kStoreRelaxed, kY}, {Kind::kFence}, {Kind::kLoadRelaxed, kX}}});
  EXPECT_EQ(strong, (Litmus::Outcomes{{0, 1}, {1, 0}, {1, 1}}));
}

// Two loads of one location: what has been seen is not unseen.
TEST(Model, Coherence) {
  const auto outcomes = outcomes_of(
      {{{Kind::kStoreRelaxed, kX}}, {{Kind::kLoadRelaxed, kX}, {Kind::kLoadRelaxed, kX}}});
  EXPECT_EQ(outcomes, (Litmus::Outcomes{{0, 0}, {0, 1}, {1, 1}}));
}

}  // namespace
}  // namespace paceline::testing
