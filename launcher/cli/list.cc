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
    "Your jobs on this host, the oldest first: id, process of `paceline run`, ranks, how long it\n"
    "has been running, and what it runs. 'ending' in place of the process: it has gone, and its\n"
    "helpers are still clearing up. What crashed jobs have left (processes, shared memory,\n"
    "folders) is removed.\n"
    "\n"
    "End one of them:  paceline cancel JOB";

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
    std::puts("no job of yours runs on this host");
  } else {
    std::fputs(job_table(jobs, SystemClock().now(), columns()).c_str(), stdout);
  }
  for (const std::string& id : found.removed)
    std::fprintf(stderr, "paceline: job %s had crashed; what it left is removed\n", id.c_str());
}

}  // namespace

int list_command(std::span<const std::string> arguments) {
  if (asks_for_help(arguments)) {
    std::puts(kHelp);
    return 0;
  }
  if (!arguments.empty())
    return complain("'list' takes no arguments; '" + arguments[0] + "' is one");
  print(JobRegistry(JobRegistry::here()).sweep());
  return 0;
}

}  // namespace paceline::launcher
