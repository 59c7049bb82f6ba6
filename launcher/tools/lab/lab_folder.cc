#include "launcher/tools/lab/lab_folder.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "comm/base/try.h"
#include "launcher/registry/job_folder.h"
#include "launcher/system/event_loop.h"
#include "launcher/system/system.h"
#include "launcher/tools/lab/lab_cgroups.h"

namespace paceline::launcher {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "lab-";
constexpr Duration kEndingTime = std::chrono::seconds(20);
constexpr Duration kLookForLock = std::chrono::milliseconds(5);

Status refuse(Code code, const std::string& text) { return Status(code, Scope::kOperation, text); }

std::string folder_name(const std::string& lab) { return std::string(kPrefix) + lab; }

std::vector<std::string> lab_folders(const UserFolder& user) {
  std::vector<std::string> names;
  std::error_code ignored;
  const fs::path path = "/proc/self/fd/" + std::to_string(user.fd.get());
  for (fs::directory_iterator entry(path, ignored), end; entry != end; entry.increment(ignored)) {
    std::string name = entry->path().filename().string();
    if (name.starts_with(kPrefix)) names.push_back(std::move(name));
  }
  return names;
}

// A command that runs in a lab's switch without root is root there; its user's folder has the
// number that he has outside. Of the lines "inside outside count" the first is his, if any is.
uid_t user_outside(uid_t inside) {
  std::ifstream map("/proc/self/uid_map");
  std::uint64_t first = 0;
  std::uint64_t outside = 0;
  if (!(map >> first >> outside) || first != inside) return inside;
  return static_cast<uid_t>(outside);
}

// The processes that share the lock close it one after another, when they die.
bool wait_for_lock(const UniqueFd& record, const Clock& clock) {
  EventLoop loop(clock);
  bool taken = false;
  const std::function<void()> look = [&] {
    taken = try_lock(record) == Lock::kTaken;
    taken ? loop.stop() : static_cast<void>(loop.after(kLookForLock, look));
  };
  loop.after(kEndingTime, [&loop] { loop.stop(); });
  look();
  return taken || (loop.run().ok() && taken);
}

}  // namespace

LabFolders::Options LabFolders::here() {
  const uid_t owner = ::geteuid();
  const uid_t user = user_outside(owner);
  return {.places = runtime_places(::getenv, user), .user = user, .owner = owner};
}

LabFolders::Outcome LabFolders::visit(const UserFolder& user, const std::string& name,
                                      LabRecord& record) const {
  const UniqueFd file = open_record(user.fd, name);
  if (!file) return Outcome::kNoLab;
  const Lock lock = try_lock(file);
  const std::optional<LabRecord> read = parse_lab_record(read_record(file));
  if (lock == Lock::kHeldByOthers) {
    // One that is being made may have no record yet; it can be told apart by its folder alone.
    record = read.value_or(LabRecord());
    record.plan.name = name.substr(kPrefix.size());
    return Outcome::kLives;
  }
  // What still dies keeps its groups, and then the next command has another look.
  if (read && !remove_lab_cgroups(read->cgroups, clock_)) return Outcome::kNoLab;
  remove_job_folder(user.fd, name);
  return Outcome::kRemoved;
}

LabFolders::Sweep LabFolders::sweep() const {
  Sweep sweep;
  for (const std::string& place : options_.places) {
    const Result<UserFolder> user = open(place, IfMissing::kFail);
    if (!user.ok()) continue;
    for (const std::string& name : lab_folders(*user)) {
      LabRecord record;
      const Outcome outcome = visit(*user, name, record);
      if (outcome == Outcome::kLives)
        sweep.up.push_back({.path = user->path + "/" + name, .record = std::move(record)});
      if (outcome == Outcome::kRemoved) sweep.removed.push_back(name.substr(kPrefix.size()));
    }
    user->remove_if_empty();
  }
  return sweep;
}

Result<LabFolders::Found> LabFolders::find(const std::string& name) const {
  std::string others;
  for (Found& found : sweep().up) {
    const LabRecord& record = found.record;
    if (record.plan.name != name) {
      others += (others.empty() ? "" : ", ") + record.plan.name;
    } else if (!record.is_complete() || identify(record.keeper.pid) != record.keeper) {
      return refuse(Code::kUnavailable, "lab '" + name + "' is being made or removed; try again");
    } else {
      return std::move(found);
    }
  }
  return refuse(Code::kInvalidArgument,
                "there is no lab '" + name + "'" +
                    (others.empty() ? "; make one: paceline lab up" : "; known are: " + others));
}

Result<LabFolder> LabFolders::make(const LabRecord& record) const {
  std::string reasons;
  const std::string name = folder_name(record.plan.name);
  for (const std::string& place : options_.places) {
    struct stat ignored {};
    if (::stat(place.c_str(), &ignored) != 0) continue;  // not every host has all of them
    Result<JobFolder> made =
        make_job_folder([&] { return open(place, IfMissing::kMake); }, name, to_text(record));
    if (made.ok())
      return LabFolder{
          .user = std::move(made->user), .name = name, .record = std::move(made->record)};
    reasons += (reasons.empty() ? "" : "; ") + place + ": " + made.status().text();
  }
  return refuse(Code::kExhausted, "cannot store the lab: " + reasons);
}

Result<bool> LabFolders::remove(const std::string& name) const {
  for (const std::string& place : options_.places) {
    PACELINE_TRY_ASSIGN(const bool removed, remove_at(place, folder_name(name)));
    if (removed) return true;
  }
  return false;
}

Result<bool> LabFolders::remove_at(const std::string& place, const std::string& name) const {
  const Result<UserFolder> user = open(place, IfMissing::kFail);
  if (!user.ok()) return false;
  const UniqueFd file = open_record(user->fd, name);
  if (!file) return user->remove_if_empty(), false;
  std::optional<LabRecord> record = parse_lab_record(read_record(file));
  if (try_lock(file) == Lock::kHeldByOthers && record) {
    // The keeper of an unfinished lab dies with its maker, which may finish it just now.
    if (!record->is_complete()) PACELINE_TRY(kill_and_wait(record->maker, kEndingTime));
    record = parse_lab_record(read_record(file));
    if (record) PACELINE_TRY(kill_and_wait(record->keeper, kEndingTime));
  }
  if (!wait_for_lock(file, clock_))
    return refuse(Code::kTimeout,
                  "another process still locks " + user->path + "/" + name + "/record");
  if (record && !remove_lab_cgroups(record->cgroups, clock_))
    return refuse(Code::kTimeout, "processes of the lab did not end in time");
  remove_job_folder(user->fd, name);
  user->remove_if_empty();
  return true;
}

Status rewrite(const LabFolder& folder, const LabRecord& record) {
  const std::string text = to_text(record);
  const auto size = static_cast<off_t>(text.size());
  if (::pwrite(folder.record.get(), text.data(), text.size(), 0) != size ||
      ::ftruncate(folder.record.get(), size) != 0)
    return system_error("write the lab's record");
  return Status();
}

Status write_lab_file(const LabFolder& folder, const std::string& name, const std::string& text) {
  const std::string path = folder.path() + "/" + name;
  const UniqueFd file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  const auto size = static_cast<ssize_t>(text.size());
  if (file && ::write(file.get(), text.data(), text.size()) == size) return Status();
  return system_error("write " + path);
}

}  // namespace paceline::launcher
