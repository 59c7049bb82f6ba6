#include "launcher/registry/run_log.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <ranges>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "comm/base/system_error.h"
#include "comm/base/text.h"
#include "comm/base/try.h"
#include "comm/base/unique_fd.h"
#include "launcher/system/file_lock.h"

namespace paceline::launcher {
namespace {

constexpr Duration kLockPatience = std::chrono::seconds(1);
constexpr std::size_t kMostNamedRuns = 4;

Status log_error(const std::string& path, const std::string& why) {
  return Status(Code::kUnavailable, Scope::kNone, path + ": " + why);
}

Status log_error(const std::string& path) { return log_error(path, error_text(errno)); }

// A user without a home, or whose home cannot be written, keeps no record.
Status folder_error(const std::string& folder) {
  const bool has_none = errno == ENOENT || errno == EACCES || errno == EPERM || errno == EROFS;
  return has_none ? Status(Code::kDenied, Scope::kNone, folder + ": " + error_text(errno))
                  : log_error(folder);
}

std::string current(const std::string& folder) { return folder + "/runs.jsonl"; }
std::string older(const std::string& folder) { return folder + "/runs.1.jsonl"; }

// A crash may have cut the last line.
bool is_cut(int file, off_t size) {
  char last = '\n';
  return size > 0 && ::pread(file, &last, 1, size - 1) == 1 && last != '\n';
}

void read_into(const std::string& path, std::vector<RunEntry>& runs) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (auto run = parse_run(line)) runs.push_back(*std::move(run));
}

}  // namespace

std::optional<std::string> RunLog::user_folder(
    const std::function<const char*(const char*)>& variable) {
  const auto absolute = [&variable](const char* name) -> std::optional<std::string> {
    const char* const value = variable(name);
    if (value == nullptr || value[0] != '/') return std::nullopt;
    return value;
  };
  if (const auto state = absolute("XDG_STATE_HOME")) return *state + "/paceline";
  if (const auto home = absolute("HOME")) return *home + "/.local/state/paceline";
  return std::nullopt;
}

// The lock is a file of its own, since the record may be replaced meanwhile. A line that a full
// disk cut is taken back.
Status RunLog::append(const RunEntry& run) const {
  std::error_code failed;
  const std::filesystem::path parent = std::filesystem::path(folder_).parent_path();
  std::filesystem::create_directories(parent, failed);
  if (::mkdir(folder_.c_str(), 0700) != 0 && errno != EEXIST) return folder_error(folder_);
  const UniqueFd locked(
      ::open((folder_ + "/runs.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!locked) return folder_error(folder_);
  PACELINE_TRY_ASSIGN(const bool is_locked, lock_file(locked.get(), "the run record in " + folder_,
                                                      kLockPatience, [] {}));
  if (!is_locked) return log_error(folder_, "another run has locked it for a second");
  const std::string path = current(folder_);
  const std::string line = line_of(run) + "\n";
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
      std::cmp_greater(status.st_size + static_cast<off_t>(line.size()), kMaxBytes) &&
      std::rename(path.c_str(), older(folder_).c_str()) != 0)
    return log_error(path);
  const UniqueFd file(
      ::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600));
  if (!file || ::fstat(file.get(), &status) != 0) return folder_error(path);
  const std::string text = (is_cut(file.get(), status.st_size) ? "\n" : "") + line;
  const ssize_t written = ::write(file.get(), text.data(), text.size());
  if (std::cmp_equal(written, text.size())) return {};
  const Status why = written < 0 ? log_error(path) : log_error(path, error_text(ENOSPC));
  [[maybe_unused]] const int restored = ::ftruncate(file.get(), status.st_size);
  return why;
}

std::vector<RunEntry> RunLog::read() const {
  std::vector<RunEntry> runs;
  read_into(older(folder_), runs);
  read_into(current(folder_), runs);
  return runs;
}

std::optional<RunEntry> baseline_of(const std::vector<RunEntry>& runs, const std::string& command,
                                    const std::string& directory,
                                    const std::vector<std::string>& hosts) {
  const auto newest_first = std::views::reverse(runs);
  const auto found = std::ranges::find_if(newest_first, [&](const RunEntry& run) {
    return run.ranks == 1 && run.exit_code == 0 && !run.ablated.is_any() &&
           run.command == command && run.directory == directory && run.figures &&
           run.figures->samples_per_s > 0 && !run.hosts.empty() &&
           std::ranges::find(hosts, run.hosts.front()) != hosts.end();
  });
  if (found == newest_first.end()) return std::nullopt;
  return *found;
}

std::optional<RunEntry> whole_run_of(const std::vector<RunEntry>& runs, const RunEntry& like) {
  const auto newest_first = std::views::reverse(runs);
  const auto found = std::ranges::find_if(newest_first, [&](const RunEntry& run) {
    return run.exit_code == 0 && !run.ablated.is_any() && run.ranks == like.ranks &&
           run.hosts == like.hosts && run.command == like.command &&
           run.directory == like.directory && run.figures && run.figures->has_steps &&
           run.figures->step_seconds > 0;
  });
  if (found == newest_first.end()) return std::nullopt;
  return *found;
}

Result<RunEntry> find_run(const std::vector<RunEntry>& runs, std::string_view word) {
  const auto refuse = [&word](const std::string& why) {
    return Status(Code::kInvalidArgument, Scope::kOperation,
                  std::string("RUN '").append(word) + "': " + why);
  };
  if (runs.empty()) return refuse("the run record has no run yet");
  if (word == "last") return runs.back();
  std::vector<const RunEntry*> matches;
  std::vector<std::string> ids;
  for (const RunEntry& run : runs) {
    if (!run.id.starts_with(word)) continue;
    matches.push_back(&run);
    ids.push_back(printable(run.id));
  }
  if (matches.empty())
    return refuse("the run record has no such run; `paceline runs --last 0` lists all");
  if (matches.size() > 1)
    return refuse("the ids of " + std::to_string(ids.size()) + " runs begin so (" +
                  list_text(ids, kMostNamedRuns) + "); give more digits");
  return *matches.front();
}

}  // namespace paceline::launcher
