#include "launcher/registry/cpu_claims.h"

#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "comm/base/read_file.h"
#include "launcher/registry/job_folder.h"
#include "launcher/registry/record.h"
#include "launcher/registry/user_folder.h"

namespace paceline::launcher {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPlans = "/plans";
constexpr std::string_view kClaim = "cpus.";
constexpr int kCreate = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC;

// The first of the user's folders that is there.
std::optional<UserFolder> folder_of(const JobRegistry::Options& options) {
  for (const std::string& place : options.places) {
    auto folder = open_user_folder(place, options.user, IfMissing::kFail);
    if (folder.ok()) return *std::move(folder);
  }
  return std::nullopt;
}

// What the agents of a job have written, in its folder.
CpuSet claims_in(const fs::path& job) {
  CpuSet all;
  std::error_code ignored;
  for (fs::directory_iterator entry(job, ignored), end; entry != end; entry.increment(ignored)) {
    if (!entry->path().filename().string().starts_with(kClaim)) continue;
    if (const auto cpus = CpuSet::parse(read_file(entry->path()))) all.add(*cpus);
  }
  return all;
}

// Its head or an agent holds the record, and it is of this host.
bool runs_here(const UniqueFd& folders, const std::string& job, const std::string& host) {
  const UniqueFd file = open_record(folders, job);
  if (!file) return false;
  const auto record = parse_record(read_record(file));
  return record && record->host == host && try_lock(file) == Lock::kHeldByOthers;
}

}  // namespace

bool CpuClaims::reserve() {
  if (lock_) return true;
  const auto folder = folder_of(options_);
  if (!folder) return true;
  UniqueFd lock(::openat(folder->fd.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock) return true;
  const std::string plans = job_id_ + kPlans;
  if (try_lock(lock) == Lock::kHeldByOthers)
    return ::faccessat(folder->fd.get(), plans.c_str(), F_OK, 0) == 0;
  const UniqueFd made(::openat(folder->fd.get(), plans.c_str(), kCreate, 0600));
  lock_ = std::move(lock);
  return true;
}

std::vector<CpuSet> CpuClaims::of_others() const {
  std::vector<CpuSet> all;
  for (const std::string& place : options_.places) {
    const auto folder = open_user_folder(place, options_.user, IfMissing::kFail);
    if (!folder.ok()) continue;
    const fs::path path = "/proc/self/fd/" + std::to_string(folder->fd.get());
    std::error_code ignored;
    for (fs::directory_iterator entry(path, ignored), end; entry != end; entry.increment(ignored)) {
      const std::string job = entry->path().filename().string();
      if (!is_job_id(job) || job == job_id_) continue;
      CpuSet cpus = claims_in(entry->path());
      if (!cpus.is_empty() && runs_here(folder->fd, job, options_.host))
        all.push_back(std::move(cpus));
    }
  }
  return all;
}

void CpuClaims::claim(const CpuSet& cpus) {
  const std::string name = job_id_ + "/" + std::string(kClaim) + std::to_string(::getpid());
  for (const std::string& place : options_.places) {
    const auto folder = open_user_folder(place, options_.user, IfMissing::kFail);
    if (!folder.ok()) continue;
    if (lock_) ::unlinkat(folder->fd.get(), (job_id_ + kPlans).c_str(), 0);
    if (cpus.is_empty()) continue;
    const UniqueFd file(::openat(folder->fd.get(), name.c_str(), kCreate, 0600));
    const std::string text = cpus.to_text();
    if (file && ::write(file.get(), text.data(), text.size()) > 0) break;
  }
  lock_.reset();
}

}  // namespace paceline::launcher
