// paceline cancel: ends a job of this user on this host, and waits until it has gone.
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <signal.h>
#include <unistd.h>

#include "comm/base/clock.h"
#include "comm/base/try.h"
#include "comm/base/unique_fd.h"
#include "launcher/cli/command.h"
#include "launcher/control/job_client.h"
#include "launcher/options/nearest.h"
#include "launcher/registry/listing.h"
#include "launcher/registry/registry.h"
#include "launcher/system/complain.h"
#include "launcher/system/event_loop.h"
#include "launcher/system/process_identity.h"

namespace paceline::launcher {
namespace {

constexpr const char* kHelp =
    "usage: paceline cancel JOB [--now]\n"
    "Ends one of your jobs on this host, and waits until all its processes and files are gone.\n"
    "JOB is the id or its first digits; `paceline list` shows ids.\n"
    "\n"
    "  --now   kill the ranks at once; without it they get SIGTERM, and SIGKILL after the job's\n"
    "          --grace\n"
    "\n"
    "Exit code: 0 if the job has ended. 125: there is no such job, or it has not ended.\n"
    "\n"
    "Example:  paceline cancel 3f2a";

// What a launcher may take beyond the grace: to sweep, and to write the rest of the output.
constexpr Duration kClearingUp = std::chrono::seconds(15);
constexpr Duration kLook = std::chrono::milliseconds(10);
// The same signal twice at once counts as one; a head that is alive takes one in this time.
constexpr int kLooksPerSignal = 10;

struct Request {
  std::string job;
  bool now = false;
};

Result<Request> parse(std::span<const std::string> arguments) {
  Request request;
  const auto wrong = [](const std::string& text) {
    return Status(Code::kInvalidArgument, Scope::kOperation,
                  text + "\nTry: paceline cancel --help");
  };
  for (const std::string& word : arguments) {
    if (word == "--now") {
      request.now = true;
    } else if (word.starts_with("-")) {
      return wrong("'cancel' has no option '" + word + "'" +
                   did_you_mean(word, std::vector<std::string>{"--now"}));
    } else if (!request.job.empty()) {
      return wrong("'cancel' takes one job, but got a second one, '" + word + "'");
    } else {
      request.job = word;
    }
  }
  if (request.job.empty()) return wrong("'cancel' needs a job; `paceline list` shows the ids");
  return request;
}

/// Asks the head to end the job, and looks until the job has gone.
class Cancellation {
 public:
  Cancellation(const JobRegistry& registry, JobRecord job, bool now)
      : registry_(registry), job_(std::move(job)), now_(now), head_(open_process(job_.head)) {
    if (head_) send_signal(head_, SIGCONT);  // a stopped head would not answer
    asked_ = head_ && ask_head().ok();
  }

  /// Whether it has gone in time.
  Result<bool> run() {
    if (!now_) signal(SIGTERM);
    look();
    if (gone_) return true;
    loop_.after(patience(), [this] { loop_.stop(); });
    const Status waited = loop_.run();
    if (!waited.ok()) return waited;
    return gone_;
  }

  Duration patience() const { return (now_ ? Duration::zero() : job_.grace) + kClearingUp; }

 private:
  // The second SIGINT kills. More do no harm, and the first may have come before the head listened.
  void look() {
    if (now_ && looks_++ % kLooksPerSignal == 0) signal(SIGINT);
    gone_ = !registry_.is_running(job_.id);
    if (gone_) return loop_.stop();
    loop_.after(kLook, [this] { look(); });
  }

  Status ask_head() const {
    PACELINE_TRY_ASSIGN(JobClient client, JobClient::connect(registry_.folder_of(job_.id)));
    job::v1::CancelRequest request;
    request.set_client("paceline cancel (pid " + std::to_string(::getpid()) + ")");
    request.set_now(now_);
    return client.cancel(request);
  }

  // For heads without the control service: they are starting or hang, or their paceline is older or
  // was built without gRPC. Without a head the spawn helper is ending the job already.
  void signal(int number) {
    if (!head_ || asked_) return;
    send_signal(head_, number);
    send_signal(head_, SIGCONT);
  }

  SystemClock clock_;
  EventLoop loop_{clock_};
  const JobRegistry& registry_;
  const JobRecord job_;
  const bool now_;
  const UniqueFd head_;
  bool asked_ = false;  // the head has agreed
  int looks_ = 0;
  bool gone_ = false;
};

int cancel(const Request& request) {
  const JobRegistry registry(JobRegistry::here());
  const Result<JobRecord> job = find_job(registry.sweep().running, request.job);
  if (!job.ok()) return complain(job.status().text());
  Cancellation cancellation(registry, *job, request.now);
  const Result<bool> gone = cancellation.run();
  if (!gone.ok()) return complain(gone.status().to_string());
  if (!*gone) {
    const std::string advice = request.now ? "check process " + std::to_string(job->head.pid)
                                           : "try: paceline cancel " + job->id + " --now";
    return complain("job " + job->id + " has not ended within " +
                    elapsed_text(cancellation.patience()) + "; " + advice);
  }
  std::printf("job %s has ended: %s\n", job->id.c_str(), job->command.c_str());
  return 0;
}

}  // namespace

int cancel_command(std::span<const std::string> arguments) {
  if (asks_for_help(arguments)) {
    std::puts(kHelp);
    return 0;
  }
  const Result<Request> request = parse(arguments);
  return request.ok() ? cancel(*request) : complain(request.status().text());
}

}  // namespace paceline::launcher
