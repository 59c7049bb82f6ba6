// What the user asked `paceline run` for.
#pragma once

#include <algorithm>
#include <chrono>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "comm/base/ablation.h"
#include "launcher/channel/silence.h"
#include "launcher/options/placement_spec.h"
#include "launcher/options/rank_set.h"
#include "launcher/options/restart_rules.h"

namespace paceline::launcher {

/// Of a job, and of a host.
inline constexpr int kMaxRanks = 65536;

/// -x NAME=value, or -x NAME: the value that the head's own environment has.
struct EnvironmentSetting {
  std::string name;
  std::optional<std::string> value;

  bool operator==(const EnvironmentSetting&) const = default;
};

/// A host that the user named, and how many ranks it may have where that was said.
struct HostSlots {
  std::string name;
  std::optional<int> slots;

  bool operator==(const HostSlots&) const = default;
};

/// One program of the job. The ranks of several follow each other in the order of the programs.
struct ProgramSpec {
  int ranks = 0;                     ///< 0: not stated by -n; count_ranks() decides
  bool is_auto = false;              ///< -n auto: CPUs count where no slots are stated
  std::vector<std::string> command;  ///< the program, then its arguments; empty: not known yet
  std::vector<EnvironmentSetting> environment;
  std::string working_directory;  ///< empty: the one of the head
  std::vector<HostSlots> hosts;   ///< -H of its own, after the first ':'; empty: those of the job

  bool operator==(const ProgramSpec&) const = default;
};

struct JobSpec {
  std::vector<ProgramSpec> programs;  ///< at least one
  std::optional<bool> tag_output;     ///< unset: when there are several ranks
  RankSet console_ranks = RankSet::all();
  std::string output_directory;         ///< may hold %j; empty: output goes to the console only
  std::optional<int> stdin_rank = 0;    ///< none: every rank finds its standard input empty
  std::chrono::nanoseconds timeout{0};  ///< 0: none
  std::chrono::nanoseconds grace{std::chrono::seconds(10)};  ///< from SIGTERM to SIGKILL
  bool signals_groups = false;  ///< signals go to whole process groups, not to main processes
  std::chrono::nanoseconds max_silence = kMaxSilence;  ///< of an agent or a spawn helper
  RestartRules restarts;
  std::chrono::nanoseconds start_timeout{std::chrono::seconds(10)};  ///< for hosts that come up
  bool timestamps = false;                                           ///< tags have the time of day
  bool is_recorded = false;                 ///< in the run record of the user
  std::string entry_file;                   ///< gets the entry of the run record; empty: none
  bool quiet = false;                       ///< no lines about the job at its end
  bool timings = false;                     ///< say where the time of the start and the end went
  std::vector<HostSlots> hosts;             ///< -H; empty: this host
  std::vector<std::string> excluded_hosts;  ///< -H ^host, of whichever hosts there are
  std::string host_file;         ///< --hostfile, as it was written; empty: none. Not with hosts
  int ranks_per_host = 0;        ///< at most; 0: no bound
  std::string engine;            ///< that starts agents on other hosts; empty: chosen
  std::string launch_agent;      ///< a program that does, instead; may hold {host}
  std::string ssh_arguments;     ///< as a shell has them
  std::string agent_path;        ///< of paceline on other hosts; empty: that of this program
  std::string faults_file;       ///< script of faults; empty: none
  std::string host_faults_file;  ///< where to write which hosts failed; empty: nowhere
  std::string trace_file;        ///< trace of the job; empty: none
  std::string evidence_file;     ///< evidence on late ranks; empty: none
  std::string membership_file;   ///< log of the job's epochs; empty: none
  std::string control;           ///< where the control service listens on TCP; empty: nowhere
  std::string metrics;           ///< where metrics are served, "ADDR:PORT"; empty: nowhere
  std::string dashboard;         ///< the same for the dashboard
  double peak_flop_per_s = 0;    ///< of one rank's device; 0: not stated
  Ablation ablation;             ///< what is left out of the job; results are wrong then
  bool python_hooks = true;      ///< Python of the ranks can say where it is
  bool host_paths = false;       ///< ranks on other hosts keep the PATH, … of their own host
  PlacementSpec placement;

  int ranks() const {
    return std::accumulate(programs.begin(), programs.end(), 0,
                           [](int sum, const ProgramSpec& program) { return sum + program.ranks; });
  }
  bool has_own_hosts() const {
    return std::ranges::any_of(programs, [](const ProgramSpec& one) { return !one.hosts.empty(); });
  }
  /// Whether each program has its number of ranks.
  bool states_ranks() const {
    return std::ranges::all_of(programs, [](const ProgramSpec& one) { return one.ranks > 0; });
  }
  bool tags() const { return tag_output.value_or(ranks() > 1 || timestamps); }
  /// One rank without tags writes what it likes, byte for byte.
  bool splits_lines() const { return ranks() > 1 || tags(); }

  bool operator==(const JobSpec&) const = default;
};

}  // namespace paceline::launcher
