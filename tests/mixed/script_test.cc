// The same seed gives the same calls, forks and endings: a failure can be replayed.

#include <algorithm>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "tests/harness/ranks.h"
#include "tests/mixed/act.h"
#include "tests/mixed/lane.h"
#include "tests/mixed/world_script.h"

namespace paceline::testing::mixed {
namespace {

constexpr std::uint64_t kActs = 50;

std::vector<std::string> acts_of(std::uint64_t seed, const ActForm& form) {
  std::vector<std::string> all;
  for (std::uint64_t act = 0; act < kActs; ++act)
    all.push_back(to_text(draw_act(drawn(seed, {act}), form), form.ranks));
  return all;
}

TEST(MixedScript, IsTheSameForTheSameSeed) {
  std::set<std::string> different;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    EXPECT_EQ(draw_world(seed, kActs), draw_world(seed, kActs)) << seed;
    different.insert(to_text(draw_world(seed, kActs)));
    const ActForm form{.ranks = 3, .is_in_c = seed % 2 == 0, .may_split = true};
    EXPECT_EQ(acts_of(seed, form), acts_of(seed, form)) << seed;
  }
  EXPECT_EQ(different.size(), 50u);
}

TEST(MixedScript, HasEveryKindOfActAndEnding) {
  std::set<Act::Kind> acts;
  std::set<Ending::Kind> endings;
  bool is_launched = false;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    for (const bool is_in_c : {false, true})
      acts.insert(draw_act(Random(seed), {.ranks = 3, .is_in_c = is_in_c, .may_split = true}).kind);
    const WorldScript script = draw_world(seed, kActs);
    endings.insert(script.ending.kind);
    is_launched = is_launched || script.is_launched;
    ASSERT_EQ(script.process_of.size(), static_cast<std::size_t>(script.ranks));
  }
  EXPECT_EQ(acts.size(), 8u);
  EXPECT_EQ(endings.size(), 6u);
  EXPECT_TRUE(is_launched);
}

// As split() numbers them: by color, then by key, then by rank.
TEST(MixedScript, KnowsWhoIsInALaneAndWhoIsLost) {
  WorldScript script{.ranks = 4,
                     .process_of = {0, 0, 1, 2},
                     .lanes = {{.colors = {0, 1, 0, 0}, .keys = {2, 0, 1, 2}}, {}},
                     .ending = {.kind = Ending::Kind::kKilled, .rank = 0, .lane = 1},
                     .timer_us = {0, 0, 0}};
  EXPECT_EQ(script.members(0, 3), (std::vector<int>{2, 0, 3}));
  EXPECT_EQ(script.members(0, 1), (std::vector<int>{1}));
  EXPECT_EQ(script.victims(0), (std::vector<int>{0, 1})) << "those of its process";
  script.ending.kind = Ending::Kind::kAborts;
  EXPECT_EQ(script.victims(1), (std::vector<int>{0}));
  EXPECT_TRUE(script.victims(0).empty());
}

// One rank calls something else: the check of a lane is not blind.
TEST(MixedLane, FindsARankThatDiffers) {
  const Status status = run_ranks({.ranks = 3}, [](Communicator& world) {
    Port port(&world);
    std::uint64_t operations = 0;
    return run_lane(port, {.seed = world.rank() == 1 ? 2u : 1u, .acts = kActs}, operations);
  });
  EXPECT_EQ(status.code(), Code::kMismatch) << status.to_string();
}

}  // namespace
}  // namespace paceline::testing::mixed
