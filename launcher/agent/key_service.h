// Gives the job's key to the ranks.
#pragma once

#include <paceline/status.h>

#include "comm/base/unique_fd.h"
#include "comm/job_key.h"
#include "launcher/agent/rank_service.h"

namespace paceline::launcher {

Result<JobKey> job_key_of(const messages::Start& start);

class KeyService final : public RankService {
 public:
  Status prepare(const messages::Start& start) override;
  Status equip(int local_rank, RankEquipment& rank) override;

 private:
  UniqueFd key_;
};

}  // namespace paceline::launcher
