#include "launcher/head/limits.h"

#include <string>

#include <gtest/gtest.h>

namespace paceline::launcher {
namespace {

JobSpec job_of_ranks(int ranks) {
  JobSpec job;
  job.programs.resize(1);
  job.programs[0].ranks = ranks;
  return job;
}

TEST(Limits, WithoutLimitsNothingIsSaid) {
  EXPECT_TRUE(check_limits(HostLimits{}, job_of_ranks(kMaxRanks)).ok());
  EXPECT_TRUE(limit_warnings(HostLimits{}, job_of_ranks(kMaxRanks)).empty());
}

TEST(Limits, DescriptorsAreCounted) {
  JobSpec job = job_of_ranks(10);
  const std::uint64_t needed = descriptors_needed(job);
  EXPECT_EQ(descriptors_needed(job_of_ranks(11)) - needed, 8u);
  HostLimits limits;
  limits.descriptors = needed;
  EXPECT_TRUE(check_limits(limits, job).ok());
  limits.descriptors = needed - 1;
  const Status refused = check_limits(limits, job);
  EXPECT_EQ(refused.code(), Code::kExhausted);
  EXPECT_EQ(refused.text(),
            "10 ranks need 144 file descriptors, but the limit is 143 (`ulimit -Hn`); raise it "
            "with `ulimit -n 144`, as root or in /etc/security/limits.conf, or ask for fewer "
            "ranks");
  job.output_directory = "/logs";
  EXPECT_EQ(descriptors_needed(job) - needed, 20u) << "two files a rank";
}

TEST(Limits, ProcessesThatRunAlreadyCount) {
  HostLimits limits;
  limits.processes = 100;
  limits.processes_running = 60;
  const JobSpec job = job_of_ranks(34);
  EXPECT_EQ(processes_needed(job), 40u);
  EXPECT_TRUE(check_limits(limits, job).ok());
  limits.processes_running = 61;
  EXPECT_EQ(check_limits(limits, job).text(),
            "34 ranks need 40 processes, but the limit is 100 (`ulimit -u`) and 61 are in "
            "use; raise `ulimit -u`, or ask for fewer ranks");
  limits = {.processes = 2};
  EXPECT_FALSE(check_limits(limits, job_of_ranks(1)).ok());
}

TEST(Limits, NowhereToPutAFlightRing) {
  HostLimits limits;
  limits.memory_file_error = "cannot create it: Operation not permitted";
  EXPECT_NE(check_limits(limits, job_of_ranks(1)).text().find("Operation not permitted"),
            std::string::npos);
}

TEST(Limits, LittleMemoryIsAWarning) {
  HostLimits limits;
  limits.shared_memory_bytes = 15 << 20;
  EXPECT_TRUE(limit_warnings(limits, job_of_ranks(3)).empty());
  EXPECT_TRUE(check_limits(limits, job_of_ranks(4)).ok());
  ASSERT_EQ(limit_warnings(limits, job_of_ranks(4)).size(), 1u);
  EXPECT_EQ(limit_warnings(limits, job_of_ranks(4))[0].find("/dev/shm has 15 MiB free for 4 ranks"),
            0u);
  limits.shared_memory_bytes = 0;
  EXPECT_TRUE(limit_warnings(limits, job_of_ranks(1)).empty()) << "one rank shares with nobody";
}

TEST(Limits, LockedMemoryMattersMoreWithARemoteMemoryDevice) {
  HostLimits limits;
  limits.locked_bytes = 64 << 10;
  EXPECT_TRUE(limit_warnings(limits, job_of_ranks(1)).empty());
  limits.remote_memory_device = "mlx5_0";
  ASSERT_EQ(limit_warnings(limits, job_of_ranks(1)).size(), 1u);
  EXPECT_NE(limit_warnings(limits, job_of_ranks(1))[0].find("mlx5_0"), std::string::npos);
  limits = {.locked_bytes = 32 << 10};
  EXPECT_EQ(limit_warnings(limits, job_of_ranks(1))[0].find("only 32 KiB of memory"), 0u);
}

TEST(Limits, OfThisHostCanBeRead) {
  const HostLimits limits = read_limits(job_of_ranks(1));
  EXPECT_GT(limits.descriptors, 0u);
  EXPECT_EQ(limits.memory_file_error, "");
}

}  // namespace
}  // namespace paceline::launcher
