#include "launcher/tools/lab/stopped_processes.h"

#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>

#include <signal.h>
#include <sys/stat.h>

namespace paceline::launcher {
namespace {

namespace fs = std::filesystem;

// One that was forked while others were being stopped is found by another look; a storm of forks
// is not followed for ever.
constexpr int kPasses = 64;

std::uint64_t pid_namespace(const std::string& pid) {
  struct stat found {};
  return ::stat(("/proc/" + pid + "/ns/pid").c_str(), &found) == 0 ? found.st_ino : 0;
}

// Signals those that have not been. Whether there were any.
bool signal_others(std::uint64_t wanted, int signal, std::set<pid_t>& done) {
  bool any = false;
  std::error_code ignored;
  for (fs::directory_iterator entry("/proc", ignored), end; entry != end;
       entry.increment(ignored)) {
    const std::string name = entry->path().filename();
    const pid_t pid = static_cast<pid_t>(std::atoi(name.c_str()));
    if (pid <= 0 || done.contains(pid) || pid_namespace(name) != wanted) continue;
    any = true;
    done.insert(pid);
    const auto process = identify(pid);
    if (process) send_signal(open_process(*process), signal);
  }
  return any;
}

Status signal_namespace(const ProcessIdentity& init, int signal) {
  const std::uint64_t wanted = pid_namespace(std::to_string(init.pid));
  if (wanted == 0 || identify(init.pid) != init)
    return Status(Code::kUnavailable, Scope::kOperation, "its first process has ended");
  std::set<pid_t> done;
  for (int pass = 0; pass < kPasses; ++pass)
    if (!signal_others(wanted, signal, done)) return Status();
  return Status(Code::kTimeout, Scope::kOperation,
                "it starts processes faster than they are found");
}

}  // namespace

Status stop_namespace(const ProcessIdentity& init) { return signal_namespace(init, SIGSTOP); }
Status continue_namespace(const ProcessIdentity& init) { return signal_namespace(init, SIGCONT); }

}  // namespace paceline::launcher
