#include "launcher/options/rank_count.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/launcher/parsing.h"

namespace paceline::launcher {
namespace {

using Hosts = std::vector<HostSlots>;

const Hosts kFour{{"a", 2}, {"b", 2}, {"c", 2}, {"d", 2}};
const Hosts kHere{{"here", {}}};

Result<int> count(const std::string& options, const Hosts& hosts, HostSource source) {
  Words words = words_of(options);
  words.push_back("prog");
  JobSpec job = job_of(words);
  const Status counted = count_ranks(job, hosts, source);
  if (!counted.ok()) return counted;
  return job.ranks();
}

int ranks(const std::string& options, const Hosts& hosts, HostSource source) {
  return accepted(count(options, hosts, source));
}

std::string refusal(const std::string& options, const Hosts& hosts, HostSource source) {
  return refusal_of(count(options, hosts, source));
}

TEST(RankCount, WithoutHostsItIsOne) {
  EXPECT_EQ(ranks("", kHere, HostSource::kNone), 1);
  EXPECT_EQ(ranks("--map-by core", kHere, HostSource::kNone), 1);
  EXPECT_EQ(ranks("-N 2", kHere, HostSource::kNone), 2);
  EXPECT_EQ(ranks("--map-by ppr:3:node", kHere, HostSource::kNone), 3);
}

TEST(RankCount, SlotsDecide) {
  EXPECT_EQ(ranks("", kFour, HostSource::kFile), 8);
  EXPECT_EQ(ranks("--map-by node", kFour, HostSource::kFile), 8);
  EXPECT_EQ(ranks("", {{"a", 4}, {"b", 1}, {"a", 1}}, HostSource::kHostOption), 6);
  EXPECT_EQ(ranks("", {{"n1", 2}, {"n2", 2}, {"n3", 1}, {"n4", 1}}, HostSource::kTasks), 6);
}

TEST(RankCount, SoManyOnEachHost) {
  EXPECT_EQ(ranks("-N 1", kFour, HostSource::kFile), 4);
  EXPECT_EQ(ranks("-N 3", kFour, HostSource::kFile), 8);
  EXPECT_EQ(ranks("-N 3", {{"a", {}}, {"b", {}}}, HostSource::kFile), 6);
  EXPECT_EQ(ranks("-N 3", {{"n1", 64}, {"n2", 64}}, HostSource::kCpus), 6);
  EXPECT_EQ(ranks("--map-by ppr:1:node", kFour, HostSource::kFile), 4);
  EXPECT_EQ(ranks("--map-by ppr:2:node", {{"a", {}}, {"b", {}}}, HostSource::kFile), 4);
}

TEST(RankCount, AHostOfTheOptionCountsOnceForEachMention) {
  EXPECT_EQ(ranks("", {{"a", {}}, {"b", {}}}, HostSource::kHostOption), 2);
  EXPECT_EQ(ranks("", {{"a", {}}, {"b", {}}, {"a", {}}}, HostSource::kHostOption), 3);
  EXPECT_EQ(ranks("", {{"a", 3}, {"b", {}}}, HostSource::kHostOption), 4);
  EXPECT_EQ(ranks("-N 4", {{"a", {}}, {"b", {}}, {"a", {}}}, HostSource::kHostOption), 8);
}

TEST(RankCount, AStatedNumberStays) {
  EXPECT_EQ(ranks("-n 3", kFour, HostSource::kFile), 3);
  EXPECT_EQ(ranks("-n 3", {{"a", {}}}, HostSource::kCpus), 3);
}

TEST(RankCount, WhatCannotBeInferredIsSaid) {
  EXPECT_EQ(refusal("", {{"a", 2}, {"b", {}}}, HostSource::kFile),
            "the number of ranks is not stated, and host b has no stated slots; use -n N or -N K, "
            "or state the slots of each host");
  EXPECT_EQ(refusal("", {{"n1", 64}}, HostSource::kCpus),
            "the number of ranks is not stated, and the Slurm allocation has no number of tasks; "
            "use -n N or -N K, or allocate with --ntasks");
  EXPECT_EQ(refusal("--map-by ppr:1:numa", kFour, HostSource::kFile),
            "the number of ranks is not stated, and --map-by ppr counts units that only the "
            "machines tell; use -n N");
  EXPECT_EQ(refusal("", {{"a", kMaxRanks}, {"b", 1}}, HostSource::kFile),
            "the number of ranks is not stated, and the hosts have 65537 slots, more than the max "
            "of 65536 ranks; use -n N");
}

TEST(RankCount, AutoCountsCpusOfAnAllocation) {
  EXPECT_EQ(ranks("-n auto", {{"n1", 64}, {"n2", 32}}, HostSource::kCpus), 96);
  EXPECT_EQ(ranks("-n auto", {{"here", 4}}, HostSource::kNone), 4);
  EXPECT_EQ(ranks("-n auto -N 3", {{"here", 4}}, HostSource::kNone), 3);
  EXPECT_EQ(ranks("-n auto", kFour, HostSource::kFile), 8);
  EXPECT_NE(refusal("-n auto", {{"a", {}}}, HostSource::kHostOption).find("host a has no stated"),
            std::string::npos);
  EXPECT_NE(refusal("-n auto a : -n 1", kHere, HostSource::kNone).find("program 1 has no number"),
            std::string::npos);
}

TEST(RankCount, SeveralProgramsHaveOneRankEachWhereNothingElseIsStated) {
  EXPECT_EQ(ranks("a : -n 2 b :", kHere, HostSource::kNone), 4);
  EXPECT_EQ(ranks("-n 1 a : -n 2", kFour, HostSource::kFile), 3);
  EXPECT_EQ(refusal("-n 2 a :", kFour, HostSource::kFile),
            "program 2 has no number of ranks; state -n for each of several programs with the same "
            "hosts");
  EXPECT_NE(refusal("-N 2 a : b :", kHere, HostSource::kNone).find("program 1 has no number"),
            std::string::npos);
}

TEST(RankCount, AProgramWithItsOwnHostsIsCountedOnThem) {
  EXPECT_EQ(ranks("-H a s : -H b:4", {{"a", {}}}, HostSource::kHostOption), 5);
  EXPECT_EQ(ranks("s : -H b:4,c w : -n 2 -H d", kHere, HostSource::kNone), 8);
  EXPECT_NE(refusal("-H a s : t : -H b", {{"a", {}}}, HostSource::kHostOption)
                .find("program 1 has no number of ranks"),
            std::string::npos);
}

TEST(RankCount, NamedRanksExist) {
  EXPECT_EQ(ranks("--stdin 7", kFour, HostSource::kFile), 8);
  EXPECT_EQ(refusal("--stdin 8", kFour, HostSource::kFile),
            "--stdin: there is no rank 8; the job has ranks 0 to 7");
  EXPECT_EQ(refusal("--console-ranks 0-1", kHere, HostSource::kNone),
            "--console-ranks: there is no rank 1; the job has only rank 0");
}

}  // namespace
}  // namespace paceline::launcher
