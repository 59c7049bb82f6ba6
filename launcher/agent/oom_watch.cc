#include "launcher/agent/oom_watch.h"

#include <array>
#include <cerrno>
#include <string_view>

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace paceline::launcher {
namespace {

// Of /proc/self/ns/pid in the first namespace, whose process numbers the log has: a constant of the
// kernel (PROC_PID_INIT_INO).
constexpr ino_t kFirstPidNamespace = 0xEFFFFFFC;
constexpr std::size_t kMaxRecordBytes = 8192;  // what the kernel itself prints into at most
constexpr int kMaxRecords = 1 << 15;           // for one look; a log of 1 MiB holds fewer

UniqueFd open_log() {
  struct stat space {};
  if (::stat("/proc/self/ns/pid", &space) != 0 || space.st_ino != kFirstPidNamespace) return {};
  UniqueFd log(::open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (log && ::lseek(log.get(), 0, SEEK_END) < 0) log.reset();
  return log;
}

}  // namespace

OomWatch OomWatch::open() {
  OomWatch watch;
  watch.log_ = open_log();
  return watch;
}

void OomWatch::started(pid_t pid) { counts_.started(pid); }

std::optional<std::string> OomWatch::killed(pid_t pid, int wait_status) {
  if (!WIFSIGNALED(wait_status) || WTERMSIG(wait_status) != SIGKILL) return {};
  read_log();
  const auto logged = records_.where(pid);
  if (!logged && log_ && log_complete_) return {};
  auto counted = counts_.killed(pid);  // asked in any case, since it counts the kills off
  return logged && (!counted || *logged != kSomeMemoryCgroup) ? logged : counted;
}

// One record a read. EPIPE: some were overwritten, and the next read begins after them.
void OomWatch::read_log() {
  std::array<char, kMaxRecordBytes> record;
  for (int i = 0; log_ && i < kMaxRecords; ++i) {
    const ssize_t got = ::read(log_.get(), record.data(), record.size());
    if (got > 0) {
      records_.add(std::string_view(record.data(), static_cast<std::size_t>(got)));
    } else if (got < 0 && errno == EPIPE) {
      log_complete_ = false;
    } else if (got == 0 || (errno != EINTR && errno != EINVAL)) {
      return;
    }
  }
}

}  // namespace paceline::launcher
