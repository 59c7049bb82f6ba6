#include "launcher/options/placement_options.h"

#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/launcher/parsing.h"
#include "tests/unit/launcher/says.h"

namespace paceline::launcher {
namespace {

using topology::ServersOn;
using topology::Unit;

PlacementSpec placement_of(const Words& words) { return job_of(words).placement; }

std::string placement_refusal(const Words& words) { return refusal_of(parse_run(words)); }

TEST(PlacementOptions, SayNothingUnlessTheyAreGiven) {
  EXPECT_EQ(placement_of({"prog"}), PlacementSpec());
}

TEST(PlacementOptions, Rules) {
  const auto rules = placement_of({"--map-by", "ppr:2:numa", "--rank-by", "core", "--bind-to",
                                   "core:overload-allowed", "--cpus-per-rank", "3", "prog"})
                         .rules;
  EXPECT_EQ(rules.map_by, Unit::kNuma);
  EXPECT_EQ(rules.ranks_per_unit, 2);
  EXPECT_EQ(rules.rank_by, Unit::kCore);
  EXPECT_EQ(rules.bind_to, Unit::kCore);
  EXPECT_TRUE(rules.may_overload);
  EXPECT_EQ(rules.cpus_per_rank, 3);
  EXPECT_TRUE(says(placement_refusal({"--map-by", "elephant", "prog"}), "--map-by: "));
  EXPECT_TRUE(says(placement_refusal({"--bind-to", "elephant", "prog"}), "elephant"));
  EXPECT_EQ(placement_refusal({"--cpus-per-rank", "0", "prog"}),
            "--cpus-per-rank: '0' is not a whole number from 1 to 65536");
}

TEST(PlacementOptions, FilesAndFlags) {
  const auto spec = placement_of({"--plan", "p", "--save-plan", "-", "--measured", "m", "--dry-run",
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
    return placement_of({"--dry-run", "--servers", "2", "--servers-on", where});
  };
  EXPECT_EQ(servers_on("spread").servers, 2);
  EXPECT_EQ(servers_on("dedicated").servers_on, ServersOn::kDedicated);
  EXPECT_EQ(servers_on("a,b").servers_on, ServersOn::kHosts);
  EXPECT_EQ(servers_on("a,b").server_hosts, (Words{"a", "b"}));
  EXPECT_TRUE(says(placement_refusal({"--dry-run", "--servers", "1", "--servers-on", "a,,b"}),
                   "empty host"));
  EXPECT_TRUE(says(placement_refusal({"--servers", "1", "prog"}), "--servers needs --dry-run"));
  EXPECT_TRUE(says(placement_refusal({"--servers-on", "a", "prog"}), "needs --servers"));
}

TEST(PlacementOptions, ProgramsWithHostsOfTheirOwnAreNotPlacedTogether) {
  for (const auto& [option, value] :
       {std::pair("--groups", "tp=2,dp="), std::pair("--plan", "p"), std::pair("--rank-by", "core"),
        std::pair("--map-by", "ppr:1:numa")})
    EXPECT_TRUE(
        says(placement_refusal({option, value, "-n", "1", "a", ":", "-H", "b", "-n", "1", "b"}),
             "cannot be combined"))
        << option;
}

TEST(PlacementOptions, ADryRunNeedsNoProgram) {
  EXPECT_EQ(placement_of({"-n", "8", "--dry-run", "--cluster", "c.json"}).cluster_file, "c.json");
  EXPECT_TRUE(placement_of({"--dry-run", "--", "prog"}).dry_run);
  EXPECT_TRUE(says(placement_refusal({"-n", "8"}), "no program"));
}

TEST(PlacementOptions, RefusesWhatContradictsItself) {
  EXPECT_TRUE(says(placement_refusal({"--cluster", "c", "prog"}), "use it with --dry-run"));
  EXPECT_TRUE(says(placement_refusal({"--plan", "p", "--bind-to", "core", "prog"}),
                   "--plan states the place"));
  EXPECT_TRUE(
      says(placement_refusal({"--map-by", "core", "--groups", "dp=", "prog"}), "use one of them"));
}

TEST(PlacementOptions, HaveAPageOfTheirOwn) {
  EXPECT_EQ(run_help(Words{"-n", "2", "--help-placement"}), placement_help());
  EXPECT_TRUE(says(run_help(Words{"--help"}).value(), "--help-placement"));
  std::istringstream help(placement_help());
  int lines = 0;
  for (std::string line; std::getline(help, line); ++lines) EXPECT_LE(line.size(), 100u) << line;
  EXPECT_LE(lines, 45);
  for (const PlacementOption& option : placement_options())
    EXPECT_TRUE(says(placement_help(), option.name)) << option.name;
}

}  // namespace
}  // namespace paceline::launcher
