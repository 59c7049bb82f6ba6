#include "launcher/head/preflight.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "comm/base/clock.h"
#include "comm/base/try.h"
#include "comm/base/unique_fd.h"
#include "launcher/agent/host.h"
#include "launcher/head/limits.h"
#include "launcher/options/hostfile.h"

namespace paceline::launcher {
namespace {

constexpr std::size_t kMaxHostfileBytes = std::size_t{1} << 20;
constexpr std::chrono::seconds kPatience{10};  // with a hostfile that is a pipe

Status unreadable(const std::string& file, const std::string& why) {
  return Status(Code::kInvalidArgument, Scope::kOperation,
                "cannot read the hostfile '" + file + "': " + why);
}

// A pipe may have a writer who says nothing: `--hostfile <(…)`.
Status wait_readable(int fd, const std::string& file, Deadline deadline) {
  const SystemClock clock;
  pollfd readable{.fd = fd, .events = POLLIN, .revents = 0};
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline.left(clock.now()));
  if (::poll(&readable, 1, static_cast<int>(left.count())) != 0) return Status();
  return unreadable(file, "nothing came within 10 s");
}

Result<std::string> read_hostfile(const std::string& file) {
  const SystemClock clock;
  const Deadline deadline = Deadline::after(clock, kPatience);
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (!fd) return unreadable(file, std::strerror(errno));
  std::string text;
  std::array<char, 16384> bytes;
  for (;;) {
    const ssize_t got = ::read(fd.get(), bytes.data(), bytes.size());
    if (got == 0) return text;
    if (got < 0 && errno == EAGAIN) {
      PACELINE_TRY(wait_readable(fd.get(), file, deadline));
      continue;
    }
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return unreadable(file, std::strerror(errno));
    text.append(bytes.data(), static_cast<std::size_t>(got));
    if (text.size() > kMaxHostfileBytes) return unreadable(file, "it is longer than 1 MiB");
  }
}

std::vector<std::string> names_of_this_host() {
  std::array<char, 256> whole{};
  if (::gethostname(whole.data(), whole.size() - 1) != 0) whole[0] = '\0';
  return {host_name(), "localhost", "127.0.0.1", whole.data()};
}

Status check_hosts_of(const JobSpec& job) {
  std::vector<HostSlots> hosts = job.hosts;
  if (!job.host_file.empty()) {
    PACELINE_TRY_ASSIGN(const std::string text, read_hostfile(job.host_file));
    PACELINE_TRY_ASSIGN(hosts, parse_hostfile(text, job.host_file));
  }
  return check_hosts(hosts, job.ranks(), names_of_this_host());
}

}  // namespace

Status preflight(const JobSpec& job, const std::function<void(const std::string&)>& warn) {
  PACELINE_TRY(check_hosts_of(job));
  const HostLimits limits = read_limits(job);
  PACELINE_TRY(check_limits(limits, job));
  for (const std::string& warning : limit_warnings(limits, job)) warn("warning: " + warning);
  return Status();
}

}  // namespace paceline::launcher
