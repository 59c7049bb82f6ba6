// The speed of a job's operations in the words of nccl-tests. Pure.
#pragma once

#include <optional>

#include "telemetry/job/job_account.h"

namespace paceline::launcher {

struct OperationSpeed {
  double bytes = 0;  ///< of a call, on average; of all_gather and the like, those of the full array
  double algbw_gbps = 0;  ///< GB/s. The time is from call to end, waits for late ranks included
  std::optional<double>
      busbw_gbps;  ///< none for one rank, and for kinds that nccl-tests does not measure
};

/// None: the operation has no data, or its bytes are not recorded.
std::optional<OperationSpeed> speed_of(const OperationSummary& operation);

}  // namespace paceline::launcher
