#include "launcher/agent/key_service.h"

#include <array>
#include <cstring>
#include <string>

#include <unistd.h>

#include "comm/base/try.h"
#include "launcher/system/system.h"

namespace paceline::launcher {

Result<JobKey> job_key_of(const messages::Start& start) {
  std::array<std::byte, JobKey::kBytes> bytes;
  if (start.job_key().size() != bytes.size())
    return Status(Code::kInternal, Scope::kOperation, "the launcher sent no job key");
  std::memcpy(bytes.data(), start.job_key().data(), bytes.size());
  return JobKey::from_bytes(bytes);
}

Status KeyService::prepare(const messages::Start& start) {
  PACELINE_TRY_ASSIGN(const JobKey key, job_key_of(start));
  PACELINE_TRY_ASSIGN(key_, key.to_memfd());
  return {};
}

Status KeyService::equip(int, RankEquipment& rank) {
  PACELINE_TRY_ASSIGN(UniqueFd key, duplicate(key_.get()));
  add_variable(rank.variables(), "PACELINE_JOB_KEY_FD", rank.add(std::move(key)));
  // For ranks behind a wrapper that closes descriptors. Set even if empty: an inherited value is
  // not the key of this job.
  add_variable(rank.variables(), "PACELINE_JOB_KEY_FILE",
               "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(key_.get()));
  return {};
}

}  // namespace paceline::launcher
