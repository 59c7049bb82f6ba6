// paceline list: the jobs of this user on this host.
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include <sys/ioctl.h>
#include <unistd.h>

#include "comm/base/clock.h"
#include "launcher/cli/command.h"
#include "launcher/control/job_client.h"
#include "launcher/control/plain_name.h"
#include "launcher/registry/listing.h"
#include "launcher/registry/registry.h"
#include "launcher/system/complain.h"
#include "launcher/system/process_identity.h"

namespace paceline::launcher {
namespace {

constexpr const char* kHelp =
    "usage: paceline list [--json]\n"
    "Lists your jobs on this host, the oldest first: id, process of `paceline run`, ranks, run\n"
    "time and command. 'ending' instead of a process: `paceline run` has ended, and its helpers\n"
    "still clean up. Also removes what crashed jobs have left: processes, shared memory,\n"
    "folders. --json: an array of objects with id, host, head (a process id, or null), ranks,\n"
    "elapsed_s, command and phase (starting, running, ending, ended; null if `paceline run` does\n"
    "not answer). `paceline status` shows more of one job.\n"
    "\n"
    "Exit code: 0, also if there are no jobs. 125: a wrong argument.\n"
    "\n"
    "Example, which lists jobs and ends one:  paceline list; paceline cancel 3f2a";

// How long a head may take to say its phase, and all heads together.
constexpr std::chrono::milliseconds kPatience{500};
constexpr Duration kMaxAsking = std::chrono::seconds(2);

// A pipe gets whole lines.
std::size_t columns() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return std::numeric_limits<std::size_t>::max();
}

// The heads are asked one after another, together for a bounded time.
void add_phases(const JobRegistry& registry, std::vector<ListedJob>& jobs) {
  const SystemClock clock;
  const Deadline deadline = Deadline::after(clock, kMaxAsking);
  for (ListedJob& job : jobs) {
    if (!job.has_head || deadline.passed(clock.now())) continue;
    Result<JobClient> client = JobClient::connect(registry.folder_of(job.record.id));
    if (!client.ok()) continue;
    const Result<job::v1::Snapshot> snapshot = client->describe(kPatience);
    if (snapshot.ok()) job.phase = phase_text(snapshot->phase());
  }
}

void print(const JobRegistry& registry, bool as_json) {
  const JobRegistry::Found found = registry.sweep();
  std::vector<ListedJob> jobs;
  for (const JobRecord& record : found.running)
    jobs.push_back({.record = record, .has_head = identify(record.head.pid) == record.head});
  if (as_json) add_phases(registry, jobs);
  if (as_json) {
    std::fputs(job_json(jobs, SystemClock().now()).c_str(), stdout);
  } else if (jobs.empty()) {
    std::puts("you have no jobs on this host");
  } else {
    std::fputs(job_table(jobs, SystemClock().now(), columns()).c_str(), stdout);
  }
  for (const std::string& id : found.removed)
    std::fprintf(stderr, "paceline: job %s had crashed; its processes and files are removed\n",
                 id.c_str());
}

}  // namespace

int list_command(std::span<const std::string> arguments) {
  if (asks_for_help(arguments)) {
    std::puts(kHelp);
    return 0;
  }
  const bool as_json = !arguments.empty() && arguments[0] == "--json";
  if (arguments.size() > (as_json ? 1u : 0u))
    return complain("'list' takes no arguments but --json, and got '" + arguments.back() + "'");
  print(JobRegistry(JobRegistry::here()), as_json);
  return 0;
}

}  // namespace paceline::launcher
