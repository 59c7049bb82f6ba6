#include "launcher/options/run_options.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::launcher {
namespace {

using Words = std::vector<std::string>;

JobSpec parsed(const Words& words) {
  const Result<JobSpec> job = parse_run(words);
  EXPECT_TRUE(job.ok()) << job.status().to_string();
  return job.ok() ? *job : JobSpec{};
}

std::string refusal(const Words& words) {
  const Result<JobSpec> job = parse_run(words);
  EXPECT_FALSE(job.ok());
  EXPECT_EQ(job.status().code(), Code::kInvalidArgument);
  return job.status().text();
}

TEST(RunOptions, Defaults) {
  const JobSpec job = parsed({"prog"});
  EXPECT_EQ(job, (JobSpec{.ranks = 1, .command = {"prog"}}));
  EXPECT_FALSE(job.tags());
  EXPECT_FALSE(job.splits_lines());
}

TEST(RunOptions, EveryWayToSayHowMany) {
  for (const Words& words : {Words{"-n", "4"},
                             {"-n4"},
                             {"-n=4"},
                             {"-np", "4"},
                             {"-np4"},
                             {"-np=4"},
                             {"--np", "4"},
                             {"--np=4"}}) {
    Words all = words;
    all.push_back("prog");
    EXPECT_EQ(parsed(all).ranks, 4) << words.front();
  }
}

TEST(RunOptions, OptionsEndAtTheProgram) {
  EXPECT_EQ(parsed({"-n", "2", "prog", "-n", "3", "--grace"}).command,
            (Words{"prog", "-n", "3", "--grace"}));
  EXPECT_EQ(parsed({"-n", "2", "--", "-prog", "--", "x"}).command, (Words{"-prog", "--", "x"}));
  EXPECT_EQ(parsed({"--tag-output", "prog", "--help"}).command, (Words{"prog", "--help"}));
}

TEST(RunOptions, Values) {
  const JobSpec job = parsed({"-x", "A=b=c", "-x", "HOME", "-xE=", "--timeout", "0.25", "-grace=0",
                              "--wdir", "/tmp", "--no-tag-output", "-n", "2", "prog"});
  EXPECT_EQ(job.environment,
            (std::vector<EnvironmentSetting>{{"A", "b=c"}, {"HOME", std::nullopt}, {"E", ""}}));
  EXPECT_EQ(job.timeout, std::chrono::milliseconds(250));
  EXPECT_EQ(job.grace, std::chrono::nanoseconds(0));
  EXPECT_EQ(job.working_directory, "/tmp");
  EXPECT_FALSE(job.tags());
  EXPECT_TRUE(job.splits_lines());
}

TEST(RunOptions, TheLastOfTwoCounts) {
  EXPECT_EQ(parsed({"-n", "2", "-np", "3", "prog"}).ranks, 3);
}

TEST(RunOptions, RefusesWhatMakesNoSense) {
  EXPECT_EQ(refusal({"-n", "0", "prog"}), "-n: '0' is not a whole number from 1 to 65536");
  for (const char* number : {"-1", "4x", "65537", "99999999999999", "1.5"})
    EXPECT_NE(refusal({"-n", number, "prog"}).find(number), std::string::npos) << number;
  for (const char* seconds : {"-1", "x", "1e300", "nan", "inf"})
    EXPECT_NE(refusal({"--timeout", seconds, "prog"}).find("--timeout"), std::string::npos);
  EXPECT_NE(refusal({"-x", "=3", "prog"}).find("names no variable"), std::string::npos);
}

TEST(RunOptions, SaysWhatIsMissing) {
  EXPECT_NE(refusal({}).find("no program"), std::string::npos);
  EXPECT_NE(refusal({"-n", "2", "--"}).find("no program"), std::string::npos);
  EXPECT_NE(refusal({""}).find("no program"), std::string::npos);
  EXPECT_EQ(refusal({"-n"}), "option -n needs a value");
  EXPECT_EQ(refusal({"--timeout=", "prog"}), "option --timeout= needs a value");
  EXPECT_EQ(refusal({"--grace", "--", "prog"}), "option --grace needs a value");
  EXPECT_EQ(refusal({"--tag-output=1", "prog"}), "option --tag-output takes no value");
}

TEST(RunOptions, NamesTheNearestOption) {
  EXPECT_EQ(refusal({"--tagoutput", "prog"}),
            "'--tagoutput' is not an option of paceline run; did you mean '--tag-output'?");
  EXPECT_EQ(refusal({"--timeuot=3", "prog"}),
            "'--timeuot=3' is not an option of paceline run; did you mean '--timeout'?");
  EXPECT_EQ(refusal({"--elephant", "prog"}), "'--elephant' is not an option of paceline run");
}

TEST(RunOptions, Help) {
  EXPECT_TRUE(asks_for_help(Words{"--help"}));
  EXPECT_TRUE(asks_for_help(Words{"-n", "2", "-h"}));
  EXPECT_FALSE(asks_for_help(Words{"prog", "--help"}));
  EXPECT_FALSE(asks_for_help(Words{"--hepl"}));
  for (const char* part : {"-n,--np", "--grace", "Examples", "124"})
    EXPECT_NE(run_help().find(part), std::string::npos) << part;
}

}  // namespace
}  // namespace paceline::launcher
