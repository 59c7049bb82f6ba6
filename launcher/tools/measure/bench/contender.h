// Who can be measured: Paceline, the loop without it, and its peers; and how their ranks start.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <paceline/status.h>

#include "launcher/options/job_spec.h"
#include "launcher/tools/measure/captured_run.h"
#include "launcher/tools/measure/probe/loop/orders.h"

namespace paceline::launcher {

/// What the machine has that decides how ranks are started.
struct BenchSite {
  std::string folder;  ///< where the project's programs are
  int ranks = 2;
  int cpus = 1;
};

/// Of this program, on the CPUs that it may use.
Result<BenchSite> bench_site(int ranks);

/// Those that stand after --against.
std::vector<std::string> contender_names();
/// Is it one of those that are MPI?
bool is_mpi(const std::string& name);
/// Is it NAME=VALUE of one of Paceline's variables: our own ranks, with that set?
bool is_setting(const std::string& name);
/// Is there such a variable, and can it have that value?
Status check_setting(const std::string& name);
/// Is it an operation put together of others? Only all_reduce is.
bool is_in_parts(const std::string& name);
/// Is it another library, which does not know of Paceline's buffers?
bool is_peer(const std::string& name);

/// A value.
struct Contender {
  std::string name;
  bool is_raw = false;        ///< wants a second shared file
  bool shows_errors = false;  ///< else what it says on standard error is kept
  /// A job of Paceline's, or the words of another launcher. The orders become arguments at its end.
  std::variant<JobSpec, CapturedProgram::Words> start;
  std::vector<std::pair<std::string, std::string>> environment;
};

/// Paceline's own ranks. `backend` as BenchRequest has it; `variation` is empty, a setting that
/// check_setting() has passed, or what is_in_parts(). Code::kUnavailable where this build has no
/// such backend.
Result<Contender> own_contender(const BenchSite& site, const std::string& backend,
                                const std::string& variation = {});
/// One of contender_names(), or the path of a folder with another build of libpaceline.so.
/// Code::kUnavailable says what is missing, and the Debian package.
Result<Contender> other_contender(const BenchSite& site, const std::string& name);

}  // namespace paceline::launcher
