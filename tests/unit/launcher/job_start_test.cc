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

messages::Start part_of(messages::Start all, const std::vector<int>& ranks) {
  give_ranks(all, ranks);
  return all;
}

TEST(JobStart, AHostGetsTheProgramsOfItsRanks) {
  const messages::Start all = start_of_six();
  EXPECT_EQ(programs(part_of(all, {0})), (std::vector<std::string>{"one"}));
  EXPECT_EQ(programs(part_of(all, {1, 2, 3})), (std::vector<std::string>{"one", "two", "two"}));
  EXPECT_EQ(programs(part_of(all, {4, 5})), (std::vector<std::string>{"two", "two"}));
  EXPECT_EQ(programs(part_of(all, {0, 3, 5})), (std::vector<std::string>{"one", "two", "two"}));
  EXPECT_EQ(programs(part_of(all, {0, 1, 2, 3, 4, 5})).size(), 6u);
}

TEST(JobStart, AHostKnowsItsRanksAndWhatIsShownOfThem) {
  const messages::Start part = part_of(start_of_six(), {1, 2, 4, 5});
  EXPECT_EQ(part.world_size(), 6u);
  EXPECT_EQ(std::vector<std::uint32_t>(part.ranks().begin(), part.ranks().end()),
            (std::vector<std::uint32_t>{1, 2, 4, 5}));
  ASSERT_EQ(part.on_console_size(), 4);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(part.on_console(i), i == 0 || i == 2) << i;
}

TEST(JobStart, InputComesWhereARankReadsIt) {
  messages::Start all = start_of_six();  // rank 0 reads
  all.set_input_comes(true);
  EXPECT_TRUE(part_of(all, {0, 3}).input_comes());
  EXPECT_FALSE(part_of(all, {1, 2}).input_comes());
  all.set_input_comes(false);  // the agent's own is the user's
  EXPECT_FALSE(part_of(all, {0}).input_comes());
}

}  // namespace
}  // namespace paceline::launcher
