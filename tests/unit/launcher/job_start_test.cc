#include "launcher/head/job_start.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::launcher {
namespace {

// Ranks 0 and 1 of a program, 2 to 5 of another.
messages::Start start_of_six() {
  JobSpec job;
  job.programs = {{.ranks = 2, .command = {"one"}}, {.ranks = 4, .command = {"two", "x"}}};
  job.console_ranks = *RankSet::parse("1,4");
  return start_of(job);
}

std::vector<std::string> programs(const messages::Start& start) {
  std::vector<std::string> all;
  for (const messages::App& app : start.apps())
    for (std::uint32_t i = 0; i < app.ranks(); ++i) all.push_back(app.command(0));
  return all;
}

TEST(JobStart, AHostGetsTheProgramsOfItsRanks) {
  const messages::Start all = start_of_six();
  EXPECT_EQ(programs(part_of(all, {"a", 0, 1}, 0)), (std::vector<std::string>{"one"}));
  EXPECT_EQ(programs(part_of(all, {"b", 1, 3}, 1)),
            (std::vector<std::string>{"one", "two", "two"}));
  EXPECT_EQ(programs(part_of(all, {"c", 4, 2}, 2)), (std::vector<std::string>{"two", "two"}));
  EXPECT_EQ(programs(part_of(all, {"a", 0, 6}, 0)).size(), 6u);
}

TEST(JobStart, AHostKnowsItsPlaceAndWhatIsShownOfItsRanks) {
  const messages::Start part = part_of(start_of_six(), {"b", 1, 4}, 1);
  EXPECT_EQ(part.host(), "b");
  EXPECT_EQ(part.host_index(), 1u);
  EXPECT_EQ(part.world_size(), 6u);
  EXPECT_EQ(part.first_rank(), 1u);
  EXPECT_EQ(part.local_ranks(), 4u);
  ASSERT_EQ(part.on_console_size(), 4);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(part.on_console(i), i == 0 || i == 3) << i;
}

}  // namespace
}  // namespace paceline::launcher
