// paceline status: shows one of the user's jobs, once or until it has ended.
#include <cstdio>
#include <string>

#include <unistd.h>

#include "comm/base/try.h"
#include "launcher/cli/command.h"
#include "launcher/control/control_files.h"
#include "launcher/control/job_client.h"
#include "launcher/control/status_text.h"
#include "launcher/options/nearest.h"
#include "launcher/options/option_values.h"
#include "launcher/registry/listing.h"
#include "launcher/registry/registry.h"
#include "launcher/system/complain.h"

namespace paceline::launcher {
namespace {

constexpr const char* kHelp =
    "usage: paceline status JOB [--watch] [--json] [--connect]\n"
    "Shows one of your jobs on this host: its phase, its hosts, and the speed of its steps so "
    "far.\n"
    "Then the process, state and operation of each rank. If ranks wait in an operation for some\n"
    "seconds, it names those that have not called it. JOB is the id or its first digits;\n"
    "`paceline list` shows ids.\n"
    "\n"
    "  --watch    show it again after each change, until the job has ended; on a terminal also\n"
    "             the speed each second\n"
    "  --json     one JSON object on one line for each time, with the names of job_v1.proto\n"
    "  --connect  show only where other programs connect: the Unix socket, and for jobs with\n"
    "             `paceline run --control` the address, the certificate and the token\n"
    "\n"
    "`paceline run` itself answers, through its control service (docs/control.md). Any program\n"
    "can be a client of it.\n"
    "\n"
    "Exit code: 0, or 125 if no such job runs or it does not answer.\n"
    "\n"
    "Examples:\n"
    "  paceline status 3f2a\n"
    "  paceline status 3f2a --json | jq '.ranks[] | select(.state != \"STATE_RUNNING\")'\n"
    "  paceline status 3f2a --watch";

// A terminal shows the newest state at its top.
constexpr const char* kClear = "\x1b[H\x1b[2J";

struct Request {
  std::string job;
  bool watches = false;
  bool as_json = false;
  bool connect = false;
};

Result<Request> parse(std::span<const std::string> arguments) {
  Request request;
  for (const std::string& word : arguments) {
    if (word == "--watch") {
      request.watches = true;
    } else if (word == "--json") {
      request.as_json = true;
    } else if (word == "--connect") {
      request.connect = true;
    } else if (word.starts_with("-")) {
      return usage_error(
          "'status' has no option '" + word + "'" +
          did_you_mean(word, std::vector<std::string>{"--watch", "--json", "--connect"}));
    } else if (!request.job.empty()) {
      return usage_error("'status' takes one job, but got a second one, '" + word + "'");
    } else {
      request.job = word;
    }
  }
  if (request.job.empty())
    return usage_error("'status' needs a job; `paceline list` shows the ids");
  return request;
}

/// Prints snapshots. A table is printed only if it differs from the one before.
class Display {
 public:
  Display(const JobClient& client, const Request& request)
      : client_(client),
        as_json_(request.as_json),
        clears_(request.watches && ::isatty(STDOUT_FILENO) == 1) {}

  Status show(const job::v1::Snapshot& snapshot) {
    if (as_json_) {
      PACELINE_TRY_ASSIGN(const std::string json, client_.to_json(snapshot));
      std::printf("%s\n", json.c_str());
    } else {
      job::v1::Snapshot timeless = snapshot;
      timeless.clear_elapsed_seconds();
      if (!clears_) timeless.clear_performance();
      const std::string text = status_text(timeless);
      if (text == shown_) return Status();
      const char* const before = clears_ ? kClear : shown_.empty() ? "" : "\n";
      std::printf("%s%s", before, status_text(snapshot).c_str());
      shown_ = text;
    }
    std::fflush(stdout);
    return Status();
  }

 private:
  const JobClient& client_;
  const bool as_json_;
  const bool clears_;
  std::string shown_;
};

Status show(const Request& request) {
  const JobRegistry registry(JobRegistry::here());
  PACELINE_TRY_ASSIGN(const JobRecord job, find_job(registry.sweep().running, request.job));
  const std::string folder = registry.folder_of(job.id);
  if (request.connect) {
    std::fputs(connect_text(folder).c_str(), stdout);
    return Status();
  }
  PACELINE_TRY_ASSIGN(JobClient client, JobClient::connect(folder));
  Display display(client, request);
  if (!request.watches) {
    PACELINE_TRY_ASSIGN(const job::v1::Snapshot snapshot, client.describe());
    return display.show(snapshot);
  }
  Status shown;
  const Status watched = client.watch([&](const job::v1::Snapshot& snapshot) {
    shown = display.show(snapshot);
    return shown.ok();
  });
  return shown.ok() ? watched : shown;
}

}  // namespace

int status_command(std::span<const std::string> arguments) {
  if (asks_for_help(arguments)) {
    std::puts(kHelp);
    return 0;
  }
  const Result<Request> request = parse(arguments);
  if (!request.ok()) return complain(request.status().text() + "\nTry: paceline status --help");
  const Status shown = show(*request);
  return shown.ok() ? 0 : complain(shown.text());
}

}  // namespace paceline::launcher
