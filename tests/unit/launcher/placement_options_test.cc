#include "launcher/options/placement_options.h"

#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "launcher/options/run_options.h"

namespace paceline::launcher {
namespace {

using Words = std::vector<std::string>;
using topology::ServersOn;
using topology::Unit;

PlacementSpec parsed(const Words& words) {
  const Result<JobSpec> job = parse_run(words);
  EXPECT_TRUE(job.ok()) << job.status().to_string();
  return job.ok() ? job->placement : PlacementSpec();
}
std::string refusal(const Words& words) {
  const Result<JobSpec> job = parse_run(words);
  return job.ok() ? "accepted" : job.status().text();
}
bool says(const std::string& text, const char* part) { return text.find(part) != text.npos; }

TEST(PlacementOptions, SayNothingUnlessTheyAreGiven) {
  EXPECT_EQ(parsed({"prog"}), PlacementSpec());
}

TEST(PlacementOptions, Rules) {
  const auto rules = parsed({"--map-by", "ppr:2:numa", "--rank-by", "core", "--bind-to",
                             "core:overload-allowed", "--cpus-per-rank", "3", "prog"})
                         .rules;
  EXPECT_EQ(rules.map_by, Unit::kNuma);
  EXPECT_EQ(rules.ranks_per_unit, 2);
  EXPECT_EQ(rules.rank_by, Unit::kCore);
  EXPECT_EQ(rules.bind_to, Unit::kCore);
  EXPECT_TRUE(rules.may_overload);
  EXPECT_EQ(rules.cpus_per_rank, 3);
  EXPECT_TRUE(says(refusal({"--map-by", "elephant", "prog"}), "--map-by: "));
  EXPECT_TRUE(says(refusal({"--bind-to", "elephant", "prog"}), "elephant"));
  EXPECT_EQ(refusal({"--cpus-per-rank", "0", "prog"}),
            "--cpus-per-rank: '0' is not a whole number from 1 to 65536");
}

TEST(PlacementOptions, FilesAndFlags) {
  const auto spec = parsed({"--plan", "p", "--save-plan", "-", "--measured", "m", "--dry-run",
                            "--report-bindings", "--groups", "tp=2,dp=", "prog"});
  EXPECT_EQ(spec.plan_file, "p");
  EXPECT_EQ(spec.save_plan, "-");
  EXPECT_EQ(spec.measured_file, "m");
  EXPECT_EQ(spec.groups, "tp=2,dp=");
  EXPECT_TRUE(spec.dry_run);
  EXPECT_TRUE(spec.report_bindings);
}

TEST(PlacementOptions, Servers) {
  const auto servers_on = [](const char* where) {
    return parsed({"--dry-run", "--servers", "2", "--servers-on", where});
  };
  EXPECT_EQ(servers_on("spread").servers, 2);
  EXPECT_EQ(servers_on("dedicated").servers_on, ServersOn::kDedicated);
  EXPECT_EQ(servers_on("a,b").servers_on, ServersOn::kHosts);
  EXPECT_EQ(servers_on("a,b").server_hosts, (Words{"a", "b"}));
  EXPECT_TRUE(says(refusal({"--dry-run", "--servers", "1", "--servers-on", "a,,b"}), "empty host"));
  EXPECT_TRUE(says(refusal({"--servers", "1", "prog"}), "--servers goes with --dry-run"));
  EXPECT_TRUE(says(refusal({"--servers-on", "a", "prog"}), "goes with --servers"));
}

TEST(PlacementOptions, ADryRunNeedsNoProgram) {
  EXPECT_EQ(parsed({"-n", "8", "--dry-run", "--cluster", "c.json"}).cluster_file, "c.json");
  EXPECT_TRUE(parsed({"--dry-run", "--", "prog"}).dry_run);
  EXPECT_TRUE(says(refusal({"-n", "8"}), "no program"));
}

TEST(PlacementOptions, RefusesWhatContradictsItself) {
  EXPECT_TRUE(says(refusal({"--cluster", "c", "prog"}), "goes with --dry-run"));
  EXPECT_TRUE(says(refusal({"--plan", "p", "--bind-to", "core", "prog"}), "--plan says where"));
  EXPECT_TRUE(says(refusal({"--map-by", "core", "--groups", "dp=", "prog"}), "give one of them"));
}

TEST(PlacementOptions, HaveAPageOfTheirOwn) {
  EXPECT_TRUE(run_asks_for_placement(Words{"-n", "2", "--help-placement"}));
  EXPECT_FALSE(run_asks_for_placement(Words{"--help"}));
  EXPECT_TRUE(says(run_help(), "--help-placement"));
  std::istringstream help(placement_help());
  int lines = 0;
  for (std::string line; std::getline(help, line); ++lines) EXPECT_LE(line.size(), 100u) << line;
  EXPECT_LE(lines, 45);
  for (const PlacementOption& option : placement_options())
    EXPECT_TRUE(says(placement_help(), option.name)) << option.name;
}

}  // namespace
}  // namespace paceline::launcher
