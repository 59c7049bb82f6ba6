// paceline top: a running job, live.
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include <sys/ioctl.h>
#include <unistd.h>

#include "comm/base/try.h"
#include "launcher/cli/command.h"
#include "launcher/control/job_client.h"
#include "launcher/control/top_text.h"
#include "launcher/options/nearest.h"
#include "launcher/options/option_values.h"
#include "launcher/registry/listing.h"
#include "launcher/registry/registry.h"
#include "launcher/system/complain.h"

namespace paceline::launcher {
namespace {

constexpr const char* kHelp =
    "usage: paceline top [JOB] [--interval S] [--count N]\n"
    "Shows live what the time of one of your jobs on this host goes to, until the job has ended.\n"
    "The ranks for which the others wait the most come first. A row has the parts of the rank's\n"
    "steps since the last page, and how long its thread was on a CPU, or ready without one.\n"
    "Below are the hosts: CPUs, waits of their programs, memory, disks, network and GPUs.\n"
    "Without a terminal it prints a line each time. JOB is the id or its first digits; it can be\n"
    "left out if you have one job.\n"
    "\n"
    "  --interval S  seconds between two pages (default 1; without a terminal 10)\n"
    "  --count N     end after N pages\n"
    "\n"
    "It is a client of the control service (docs/control.md). Programs without marks of steps\n"
    "(docs/telemetry.md) show only their ranks.\n"
    "\n"
    "Exit code: 0, or 125 if no such job runs or it does not answer.\n"
    "\n"
    "Examples:\n"
    "  paceline top\n"
    "  paceline top 3f2a --interval 60 >> speed.log";

// A terminal shows the page from its top, and cuts lines that are too long for it.
constexpr const char* kBegin = "\x1b[H\x1b[2J\x1b[?7l";
constexpr const char* kEnd = "\x1b[?7h";

struct Request {
  std::string job;
  std::optional<Duration> interval;
  std::optional<int> count;
};

Status take_option(std::span<const std::string> words, std::size_t& at, Request& request) {
  const std::string& option = words[at];
  if (option != "--interval" && option != "--count")
    return usage_error("'top' has no option '" + option + "'" +
                       did_you_mean(option, std::vector<std::string>{"--interval", "--count"}));
  if (++at == words.size()) return usage_error(option + " needs a value");
  if (option == "--interval") {
    const auto seconds = parse_seconds(words[at]);
    if (!seconds.ok() || *seconds < std::chrono::milliseconds(100))
      return usage_error("--interval " + words[at] + ": use 0.1 to a year of seconds");
    request.interval = *seconds;
  } else {
    const auto count = parse_count(words[at]);
    if (!count.ok()) return usage_error("--count " + count.status().text());
    request.count = *count;
  }
  return {};
}

Result<Request> parse(std::span<const std::string> words) {
  Request request;
  for (std::size_t at = 0; at < words.size(); ++at) {
    if (words[at].starts_with("-")) {
      PACELINE_TRY(take_option(words, at, request));
    } else if (!request.job.empty()) {
      return usage_error("'top' takes one job, but got a second one, '" + words[at] + "'");
    } else {
      request.job = words[at];
    }
  }
  return request;
}

std::size_t lines_of_terminal() {
  constexpr std::size_t kUsual = 24;
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : kUsual;
}

/// Prints a page each interval.
class Pages {
 public:
  explicit Pages(const Request& request)
      : on_terminal_(::isatty(STDOUT_FILENO) == 1),
        seconds_(std::chrono::duration<double>(
                     request.interval.value_or(std::chrono::seconds(on_terminal_ ? 1 : 10)))
                     .count()),
        left_(request.count) {}

  /// False after the last page.
  bool take(const job::v1::Snapshot& now) {
    const bool is_first = !last_;
    const bool has_ended = now.phase() == job::v1::PHASE_ENDED;
    const bool is_due =
        is_first || now.elapsed_seconds() >= last_->elapsed_seconds() + seconds_ || has_ended;
    if (!is_due) return true;
    const bool shows = on_terminal_ || !is_first;
    if (on_terminal_)
      std::printf("%s%s%s", kBegin, page(now).c_str(), kEnd);
    else if (shows)
      std::fputs(top_line(*last_, now).c_str(), stdout);
    std::fflush(stdout);
    earlier_ = std::exchange(last_, now);
    return !shows || !left_ || --*left_ > 0;
  }

 private:
  std::string page(const job::v1::Snapshot& now) const {
    const job::v1::Snapshot& last = last_ ? *last_ : now;
    return top_page({.earlier = earlier_ ? *earlier_ : last, .before = last, .now = now},
                    lines_of_terminal());
  }

  const bool on_terminal_;
  const double seconds_;
  std::optional<int> left_;
  std::optional<job::v1::Snapshot> last_;     // that was shown
  std::optional<job::v1::Snapshot> earlier_;  // that was shown before
};

Status show(const Request& request) {
  const JobRegistry registry(JobRegistry::here());
  PACELINE_TRY_ASSIGN(const JobRecord job, find_job(registry.sweep().running, request.job));
  PACELINE_TRY_ASSIGN(JobClient client, JobClient::connect(registry.folder_of(job.id)));
  Pages pages(request);
  return client.watch([&](const job::v1::Snapshot& snapshot) { return pages.take(snapshot); });
}

}  // namespace

int top_command(std::span<const std::string> arguments) {
  if (asks_for_help(arguments)) {
    std::puts(kHelp);
    return 0;
  }
  const Result<Request> request = parse(arguments);
  if (!request.ok()) return complain(request.status().text() + "\nTry: paceline top --help");
  const Status shown = show(*request);
  return shown.ok() ? 0 : complain(shown.text());
}

}  // namespace paceline::launcher
