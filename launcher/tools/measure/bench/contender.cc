#include "launcher/tools/measure/bench/contender.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <unistd.h>

#include "comm/base/cpus.h"
#include "comm/base/environment.h"
#include "comm/base/try.h"
#include "launcher/options/nearest.h"
#include "launcher/options/option_values.h"
#include "launcher/system/program_file.h"
#include "launcher/system/system.h"
#include "launcher/tools/measure/probe/loop/in_parts.h"

namespace paceline::launcher {
namespace {

using Words = CapturedProgram::Words;

constexpr std::string_view kRaw = "raw";
constexpr std::string_view kBackendVariable = "PACELINE_BACKEND";
constexpr std::string_view kOwnPrefix = "PACELINE_";

// How ranks of a peer come to life.
enum class Start { kPaceline, kOpenMpi, kOpenMpiInSegments, kMpich };

struct Peer {
  std::string_view name;
  std::string_view program;  // behind paceline-peer-
  Start start;
  std::string_view packages;  // of Debian, to build its program and to run it
};

constexpr Peer kPeers[] = {
    {"openmpi", "openmpi", Start::kOpenMpi, "libopenmpi-dev openmpi-bin"},
    {"openmpi-1m", "openmpi", Start::kOpenMpiInSegments, "libopenmpi-dev openmpi-bin"},
    {"mpich", "mpich", Start::kMpich, "libmpich-dev mpich"},
    {"gloo", "gloo", Start::kPaceline, "libgloo-dev"},
};

Status missing(const std::string& text) {
  return Status(Code::kUnavailable, Scope::kOperation, text);
}

bool is_program(const std::string& path) { return ::access(path.c_str(), X_OK) == 0; }

bool is_in_path(const std::string& program) {
  const char* const path = std::getenv("PATH");
  return find_program(program, path != nullptr ? path : "/usr/bin:/bin", "").error == 0;
}

JobSpec job_of(const BenchSite& site, const std::string& program) {
  JobSpec job;
  job.programs.push_back({.ranks = site.ranks, .command = {program}});
  return job;
}

// The same probe with another library.
Result<Contender> other_build(const BenchSite& site, const std::string& folder) {
  if (::access((folder + "/libpaceline.so").c_str(), R_OK) != 0)
    return missing("--against " + folder + ": there is no libpaceline.so in it");
  JobSpec job = job_of(site, site.folder + "/paceline-probe");
  job.programs.front().environment.push_back({.name = "LD_LIBRARY_PATH", .value = folder});
  return Contender{.name = folder, .start = std::move(job)};
}

bool has_backend_variable() {
  const auto variables = environment_variables();
  return std::any_of(variables.begin(), variables.end(),
                     [](const Variable& variable) { return variable.name == kBackendVariable; });
}

// All-reduce through a ring of segments of 1 MiB: the quicker setting from some MiB on.
constexpr std::array<std::pair<const char*, const char*>, 3> kSegments = {{
    {"coll_tuned_use_dynamic_rules", "1"},
    {"coll_tuned_allreduce_algorithm", "5"},
    {"coll_tuned_allreduce_algorithm_segmentsize", "1048576"},
}};

Words mpirun(Start start, const BenchSite& site) {
  const std::string ranks = std::to_string(site.ranks);
  if (start == Start::kMpich) return {"mpirun.mpich", "-n", ranks};
  Words words{"mpirun.openmpi", "-n", ranks};
  // It refuses more ranks than cores without this, and with it its ranks yield.
  if (site.ranks > site.cpus) words.emplace_back("--oversubscribe");
  if (start == Start::kOpenMpiInSegments)
    for (const auto& [name, value] : kSegments) words.insert(words.end(), {"--mca", name, value});
  return words;
}

Contender start_of(const Peer& peer, const BenchSite& site, const std::string& program) {
  if (peer.start == Start::kPaceline) return {.start = job_of(site, program), .environment = {}};
  Words words = mpirun(peer.start, site);
  words.push_back(program);
  Contender contender{.start = std::move(words), .environment = {}};
  if (peer.start != Start::kMpich)
    contender.environment = {{"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                             {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}};
  return contender;
}

}  // namespace

Result<BenchSite> bench_site(int ranks) {
  PACELINE_TRY_ASSIGN(std::string folder, folder_of_programs());
  return BenchSite{.folder = std::move(folder), .ranks = ranks, .cpus = allowed_cpus()};
}

std::vector<std::string> contender_names() {
  std::vector<std::string> names;
  for (const Peer& peer : kPeers) names.emplace_back(peer.name);
  names.emplace_back(kRaw);
  for (const std::string_view parts : probe::InParts::names()) names.emplace_back(parts);
  return names;
}

bool is_mpi(const std::string& name) {
  return std::ranges::any_of(kPeers, [&name](const Peer& peer) {
    return peer.name == name && peer.start != Start::kPaceline;
  });
}

bool is_setting(const std::string& name) {
  return name.starts_with(kOwnPrefix) && name.find('=') != name.npos;
}

Status check_setting(const std::string& name) {
  const std::size_t equals = name.find('=');
  const std::string variable = name.substr(0, equals);
  std::vector<std::string> known;
  for (const Variable& one : environment_variables())
    if (one.name.starts_with(kOwnPrefix)) known.emplace_back(one.name);
  if (std::find(known.begin(), known.end(), variable) == known.end())
    return Status(
        Code::kInvalidArgument, Scope::kOperation,
        "'" + variable + "' is not a variable that ranks read" + did_you_mean(variable, known));
  const auto lookup = [&](const char* one) {
    return variable == one ? name.c_str() + equals + 1 : nullptr;
  };
  return read_environment(lookup).status();
}

bool is_in_parts(const std::string& name) { return probe::InParts::find(name) != nullptr; }

bool is_peer(const std::string& name) {
  return std::any_of(std::begin(kPeers), std::end(kPeers),
                     [&](const Peer& peer) { return peer.name == name; });
}

Result<Contender> own_contender(const BenchSite& site, const std::string& backend,
                                const std::string& variation) {
  const std::string probe = site.folder + "/paceline-probe";
  if (!is_program(probe)) return missing(probe + " is missing; it is built together with paceline");
  Contender contender{.name = variation.empty() ? backend : variation,
                      .is_raw = backend == kRaw,
                      .shows_errors = variation.empty()};
  if (contender.name.empty()) contender.name = "auto";
  // TCP is what a build without the choice has.
  if (backend == "shm" && !has_backend_variable())
    return missing("--backend shm: this build has TCP only");
  JobSpec job = job_of(site, probe);
  ProgramSpec& program = job.programs.front();
  if (!backend.empty() && !contender.is_raw && has_backend_variable())
    program.environment.push_back({.name = std::string(kBackendVariable), .value = backend});
  if (is_setting(variation)) {
    PACELINE_TRY_ASSIGN(EnvironmentSetting setting, parse_setting(variation));
    program.environment.push_back(std::move(setting));
  }
  if (is_in_parts(variation)) program.command.push_back("parts=" + variation);
  contender.start = std::move(job);
  return contender;
}

Result<Contender> other_contender(const BenchSite& site, const std::string& name) {
  if (name.find('/') != name.npos) return other_build(site, name);
  if (name == kRaw) return own_contender(site, name);
  const auto* const peer = std::find_if(std::begin(kPeers), std::end(kPeers),
                                        [&](const Peer& one) { return one.name == name; });
  if (peer == std::end(kPeers)) return missing("unknown peer '" + name + "'");
  const std::string program = site.folder + "/paceline-peer-" + std::string(peer->program);
  const std::string packages(peer->packages);
  if (!is_program(program))
    return missing("--against " + name + ": missing " + program +
                   "; it is built with the tests if the headers of " + name +
                   " are found (Debian packages: " + packages + ")");
  Contender contender = start_of(*peer, site, program);
  const Words* const words = std::get_if<Words>(&contender.start);
  if (words != nullptr && !is_in_path(words->front()))
    return missing("--against " + name + ": " + words->front() +
                   " is not in PATH (Debian packages: " + packages + ")");
  contender.name = name;
  return contender;
}

}  // namespace paceline::launcher
