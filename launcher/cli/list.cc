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
#include "launcher/registry/listing.h"
#include "launcher/registry/registry.h"
#include "launcher/system/process_identity.h"

namespace paceline::launcher {
namespace {

constexpr const char* kHelp =
    "usage: paceline list\n"
    "Lists your jobs on this host, the oldest first: id, process of `paceline run`, ranks, run\n"
    "time and command. 'ending' instead of a process: `paceline run` has ended, and its helpers\n"
    "still clean up. Also removes what crashed jobs have left: processes, shared memory,\n"
    "folders.\n"
    "\n"
    "Exit code: 0, also if there are no jobs. 125: a wrong argument.\n"
    "\n"
    "Example, which lists jobs and ends one:  paceline list; paceline cancel 3f2a";

// A pipe gets whole lines.
std::size_t columns() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return std::numeric_limits<std::size_t>::max();
}

void print(const JobRegistry::Found& found) {
  std::vector<ListedJob> jobs;
  for (const JobRecord& record : found.running)
    jobs.push_back({.record = record, .has_head = identify(record.head.pid) == record.head});
  if (jobs.empty()) {
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
  if (!arguments.empty())
    return complain("'list' takes no arguments, but got '" + arguments[0] + "'");
  print(JobRegistry(JobRegistry::here()).sweep());
  return 0;
}

}  // namespace paceline::launcher
