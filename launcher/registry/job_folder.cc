#include "launcher/registry/job_folder.h"

#include <array>
#include <cerrno>
#include <filesystem>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "comm/base/clock.h"
#include "comm/base/try.h"
#include "launcher/registry/record.h"
#include "launcher/system/system.h"

namespace paceline::launcher {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRecord = "record";
constexpr std::string_view kUnfinished = ".new";
// A sweeper needs microseconds for what another has to make again.
constexpr Duration kMakingTime = std::chrono::seconds(5);

UniqueFd open_folder(const UniqueFd& folders, const std::string& name) {
  return UniqueFd(
      ::openat(folders.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

Status write_whole(const UniqueFd& file, const std::string& text) {
  const ssize_t written = ::write(file.get(), text.data(), text.size());
  if (written == static_cast<ssize_t>(text.size())) return Status();
  if (written >= 0) errno = ENOSPC;
  return system_error("write the record of the job");
}

// Closed where a sweeper was first.
Result<UniqueFd> make_locked_record(const UniqueFd& folders, const std::string& name) {
  const auto refuse = [](const char* what) {
    return errno == ENOENT ? Result<UniqueFd>(UniqueFd()) : system_error(what);
  };
  if (::mkdirat(folders.get(), name.c_str(), 0700) != 0) return refuse("make the job's folder");
  const UniqueFd folder = open_folder(folders, name);
  if (!folder) return refuse("open the job's folder");
  UniqueFd record(
      ::openat(folder.get(), kRecord, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!record) return refuse("write the record of the job");
  if (::flock(record.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return UniqueFd();
    return system_error("lock the job's record");
  }
  if (!is_linked(record)) return UniqueFd();
  return record;
}

Status finish(const UniqueFd& folders, const std::string& unfinished, const std::string& name,
              const UniqueFd& record, const std::string& text) {
  PACELINE_TRY(write_whole(record, text));
  if (::renameat(folders.get(), unfinished.c_str(), folders.get(), name.c_str()) != 0)
    return system_error("rename the job's folder");
  return Status();
}

}  // namespace

bool is_job_folder(std::string_view name) {
  const std::string_view id = name.substr(0, name.find('.'));
  return is_job_id(id) && (id == name || name.substr(id.size()).starts_with(kUnfinished));
}

Result<JobFolder> make_job_folder(FunctionRef<Result<UserFolder>()> open_user,
                                  const std::string& name, const std::string& text) {
  const SystemClock clock;
  const Deadline deadline = Deadline::after(clock, kMakingTime);
  for (int attempt = 0; !deadline.passed(clock.now()); ++attempt) {
    Result<UserFolder> user = open_user();
    if (!user.ok() && user.status().code() == Code::kUnavailable) continue;
    if (!user.ok()) return user.status();
    const std::string unfinished = name + std::string(kUnfinished) + std::to_string(attempt);
    Result<UniqueFd> record = make_locked_record(user->fd, unfinished);
    if (record.ok() && !*record) continue;
    const Status status =
        record.ok() ? finish(user->fd, unfinished, name, *record, text) : record.status();
    if (status.ok()) return JobFolder{.user = *std::move(user), .record = *std::move(record)};
    remove_job_folder(user->fd, unfinished);
    return status;
  }
  return Status(Code::kTimeout, Scope::kProcess,
                "another process removes the folder " + name + " whenever this job creates it");
}

UniqueFd open_record(const UniqueFd& folders, const std::string& name) {
  const UniqueFd folder = open_folder(folders, name);
  if (!folder) return UniqueFd();
  UniqueFd record(::openat(folder.get(), kRecord, O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  // Fails where a starting job has come between.
  if (!record) ::unlinkat(folders.get(), name.c_str(), AT_REMOVEDIR);
  return record;
}

std::string read_record(const UniqueFd& record) {
  std::array<char, 4096> text;
  const ssize_t got = ::pread(record.get(), text.data(), text.size(), 0);
  return got > 0 ? std::string(text.data(), static_cast<std::size_t>(got)) : std::string();
}

Lock try_lock(const UniqueFd& file) {
  return ::flock(file.get(), LOCK_EX | LOCK_NB) == 0 ? Lock::kTaken : Lock::kHeldByOthers;
}

UniqueFd reopen(const UniqueFd& file) {
  const std::string path = "/proc/self/fd/" + std::to_string(file.get());
  return UniqueFd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
}

bool is_linked(const UniqueFd& file) {
  struct stat found {};
  return ::fstat(file.get(), &found) == 0 && found.st_nlink > 0;
}

void remove_job_folder(const UniqueFd& folders, const std::string& name) {
  const UniqueFd folder = open_folder(folders, name);
  if (!folder) return;
  std::error_code ignored;
  std::vector<fs::path> others;
  const fs::path path = "/proc/self/fd/" + std::to_string(folder.get());
  for (fs::directory_iterator entry(path, ignored), end; entry != end; entry.increment(ignored)) {
    if (entry->path().filename() != kRecord) others.push_back(entry->path());
  }
  for (const fs::path& other : others) fs::remove_all(other, ignored);
  ::unlinkat(folder.get(), kRecord, 0);
  ::unlinkat(folders.get(), name.c_str(), AT_REMOVEDIR);
}

}  // namespace paceline::launcher
