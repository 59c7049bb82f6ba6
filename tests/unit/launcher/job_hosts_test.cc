#include "launcher/head/job_hosts.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "launcher/system/host.h"

namespace paceline::launcher {
namespace {

TEST(JobHosts, ThisHostIsKnownByAllItsNames) {
  std::string capitals = host_name();
  std::ranges::transform(capitals, capitals.begin(), ::toupper);
  for (const std::string& name :
       {host_name(), capitals, std::string("localhost"), std::string("LocalHost"),
        std::string("127.0.0.1"), std::string("::1")})
    EXPECT_TRUE(is_this_host(name)) << name;
  for (const char* name : {"", "h1", "localhost1", "192.0.2.1", "2001:db8::1"})
    EXPECT_FALSE(is_this_host(name)) << name;
}

// Two ranks for each of the hosts that are not out, as "a:2 c:2", or the error.
std::string shared(JobSpec job, const std::set<std::string>& out) {
  const Result<SharedHosts> first = hosts_of(job);
  if (!first.ok()) return std::string(first.status().text());
  const auto shares =
      share_without(job, *first, [&out](const std::string& host) { return out.contains(host); });
  if (!shares.ok()) return std::string(shares.status().text());
  std::string text;
  for (const HostShare& share : *shares)
    text += (text.empty() ? "" : " ") + share.host + ":" + std::to_string(share.ranks);
  return text;
}

JobSpec job_on(std::vector<HostSlots> hosts, int ranks) {
  JobSpec job;
  job.programs = {{.ranks = ranks, .command = {"program"}}};
  job.hosts = std::move(hosts);
  return job;
}

TEST(JobHosts, SpareHostsTakeThePlaceOfThoseThatAreOut) {
  const JobSpec job = job_on({{"a", 2}, {"b", 2}, {"c", 2}}, 4);
  EXPECT_EQ(shared(job, {}), "a:2 b:2");
  EXPECT_EQ(shared(job, {"b"}), "a:2 c:2");
  EXPECT_EQ(shared(job, {"a"}), "b:2 c:2");
  EXPECT_EQ(shared(job, {"a", "b"}),
            "the job has 4 ranks, but its hosts have 2 slots; ask for fewer ranks, or give the "
            "hosts more slots");
  EXPECT_EQ(shared(job, {"a", "b", "c"}), "no host is left");
}

TEST(JobHosts, AHostWithoutStatedSlotsGetsNoMoreRanksThanAtFirst) {
  const JobSpec job = job_on({{"a", {}}, {"b", {}}}, 5);
  EXPECT_EQ(shared(job, {}), "a:3 b:2");
  EXPECT_EQ(shared(job, {"b"}),
            "the job has 5 ranks, but its hosts have 3 slots; ask for fewer ranks, or give the "
            "hosts more slots");
}

TEST(JobHosts, ASpareHostWithoutStatedSlotsGetsAsManyRanksAsOthers) {
  const JobSpec job = job_on({{"a", 2}, {"b", 2}, {"c", {}}}, 4);
  EXPECT_EQ(shared(job, {}), "a:2 b:2");
  EXPECT_EQ(shared(job, {"b"}), "a:2 c:2");
}

TEST(JobHosts, AProgramStaysOnItsOwnHosts) {
  JobSpec job = job_on({{"a", 1}, {"b", 1}}, 1);
  job.programs.push_back({.ranks = 1, .command = {"other"}, .hosts = {{"c", 1}, {"d", 1}}});
  EXPECT_EQ(shared(job, {}), "a:1 c:1");
  EXPECT_EQ(shared(job, {"c"}), "a:1 d:1");
  EXPECT_EQ(shared(job, {"c", "d"}), "program 2: no host is left");
}

}  // namespace
}  // namespace paceline::launcher
