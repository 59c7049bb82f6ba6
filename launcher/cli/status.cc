// paceline status: shows one of the user's jobs, once or until it has ended.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include <unistd.h>

#include "comm/base/try.h"
#include "launcher/cli/command.h"
#include "launcher/control/control_files.h"
#include "launcher/control/hang.h"
#include "launcher/control/job_client.h"
#include "launcher/control/status_text.h"
#include "launcher/options/nearest.h"
#include "launcher/options/option_values.h"
#include "launcher/options/rank_set.h"
#include "launcher/registry/listing.h"
#include "launcher/registry/registry.h"
#include "launcher/system/complain.h"
#include "launcher/system/process_identity.h"

namespace paceline::launcher {
namespace {

constexpr const char* kHelp =
    "usage: paceline status JOB [--stacks RANKS] [--watch] [--json] [--connect]\n"
    "Shows one of your jobs on this host: its phase, its hosts, and the speed of its steps so "
    "far.\n"
    "Then the process, state and operation of each rank. JOB is the id or its first digits;\n"
    "`paceline list` shows ids.\n"
    "\n"
    "If ranks wait in an operation for 2 s or longer, it names the ranks that have not called\n"
    "it, says what they do instead, and shows their stacks. To read a stack, a process is\n"
    "stopped for some milliseconds. docs/telemetry.md explains the sentences.\n"
    "\n"
    "  --stacks RANKS  take the stacks of these ranks, at most 16: `3`, `0,4-7` or `all`. Or of\n"
    "             none: `none`. Without it: of late ranks; with --json or --watch of none\n"
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
    "  paceline status 3f2a --stacks 0,3\n"
    "  paceline status 3f2a --json | jq '.ranks[] | select(.state != \"STATE_RUNNING\")'\n"
    "  paceline status 3f2a --watch";

// A terminal shows the newest state at its top.
constexpr const char* kClear = "\x1b[H\x1b[2J";

struct Request {
  std::string job;
  bool watches = false;
  bool as_json = false;
  bool connect = false;
  std::optional<RankSet> stacks;
};

constexpr const char* kStacks = "--stacks";

Result<Request> parse(std::span<const std::string> arguments) {
  Request request;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == kStacks) {
      if (++i == arguments.size())
        return usage_error("--stacks needs ranks, as in `--stacks 0,4-7`");
      PACELINE_TRY_ASSIGN(request.stacks, RankSet::parse(arguments[i]));
    } else if (word == "--watch") {
      request.watches = true;
    } else if (word == "--json") {
      request.as_json = true;
    } else if (word == "--connect") {
      request.connect = true;
    } else if (word.starts_with("-")) {
      return usage_error(
          "'status' has no option '" + word + "'" +
          did_you_mean(word, std::vector<std::string>{kStacks, "--watch", "--json", "--connect"}));
    } else if (!request.job.empty()) {
      return usage_error("'status' takes one job, but got a second one, '" + word + "'");
    } else {
      request.job = word;
    }
  }
  if (request.job.empty())
    return usage_error("'status' needs a job; `paceline list` shows the ids");
  if (request.watches && request.stacks && request.stacks != RankSet::none())
    return usage_error("--watch and --stacks exclude each other: stacks are taken once");
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

std::vector<std::uint32_t> ranks_of_stacks(const Request& request,
                                           const job::v1::Snapshot& snapshot) {
  if (!request.stacks && request.as_json) return {};
  if (!request.stacks) return explain_hang(snapshot).suspects;
  std::vector<std::uint32_t> ranks;
  for (int rank = 0; rank < snapshot.ranks_size(); ++rank)
    if (request.stacks->contains(rank)) ranks.push_back(static_cast<std::uint32_t>(rank));
  if (request.stacks->highest_named() >= snapshot.ranks_size())
    complain("warning: --stacks: the job has " + std::to_string(snapshot.ranks_size()) + " ranks");
  if (ranks.size() > kMaxSuspects) {
    complain("warning: --stacks: only the first " + std::to_string(kMaxSuspects) + " of " +
             std::to_string(ranks.size()) + " ranks");
    ranks.resize(kMaxSuspects);
  }
  return ranks;
}

Status show_once(const Request& request, JobClient& client, Display& display) {
  PACELINE_TRY_ASSIGN(const job::v1::Snapshot snapshot, client.describe());
  const std::vector<std::uint32_t> ranks = ranks_of_stacks(request, snapshot);
  if (ranks.empty()) return display.show(snapshot);
  const Result<job::v1::Snapshot> more = client.describe(ranks);
  if (!more.ok()) complain("warning: no stacks: " + more.status().text());
  return display.show(more.ok() ? *more : snapshot);
}

Status show_until_the_end(JobClient& client, Display& display) {
  Status shown;
  const Status watched = client.watch([&](const job::v1::Snapshot& snapshot) {
    shown = display.show(snapshot);
    return shown.ok();
  });
  return shown.ok() ? watched : shown;
}

// Why a job does not answer, by the state of its head, `paceline run`.
Status with_head(const Status& failed, const JobRecord& job, const JobRegistry& registry) {
  const std::string head =
      "its head, process " + std::to_string(job.head.pid) + " (`paceline run`), ";
  std::string why;
  if (is_stopped(job.head))
    why = head + "is stopped by a signal or a debugger; `kill -CONT " +
          std::to_string(job.head.pid) + "` continues it";
  else if (identify(job.head.pid) == job.head)
    return failed;
  else if (registry.is_running(job.id))
    why = head + "has been killed; its agents are ending its ranks";
  else
    why = "it has just ended";
  return Status(failed.code(), failed.scope(), "job " + job.id + " does not answer: " + why);
}

Result<JobRecord> find(const JobRegistry& registry, const std::string& prefix) {
  const JobRegistry::Found found = registry.sweep();
  Result<JobRecord> job = find_job(found.running, prefix);
  for (const std::string& id : found.removed)
    if (!job.ok() && !prefix.empty() && id.starts_with(prefix))
      return Status(Code::kUnavailable, Scope::kPeer,
                    "job " + id +
                        " has ended without its head, which was killed; its leftovers have been "
                        "removed now");
  return job;
}

Status show(const Request& request) {
  const JobRegistry registry(JobRegistry::here());
  PACELINE_TRY_ASSIGN(const JobRecord job, find(registry, request.job));
  const std::string folder = registry.folder_of(job.id);
  if (request.connect) {
    std::fputs(connect_text(folder).c_str(), stdout);
    return Status();
  }
  Result<JobClient> client = JobClient::connect(folder);
  if (!client.ok()) return with_head(client.status(), job, registry);
  Display display(*client, request);
  const Status shown =
      request.watches ? show_until_the_end(*client, display) : show_once(request, *client, display);
  return shown.ok() ? shown : with_head(shown, job, registry);
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
