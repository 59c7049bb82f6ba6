// A client of the control service of one of the user's jobs on this host, for commands.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include <paceline/status.h>

#include "launcher/control/control_module.h"
#include "launcher/proto/job_v1.pb.h"

namespace paceline::launcher {

/// One thread. Errors are whole sentences about the job.
class JobClient {
 public:
  static constexpr std::chrono::milliseconds kPatience{2000};
  static constexpr std::chrono::milliseconds kStacksPatience{8000};

  /// `folder`: JobRegistry::folder_of(). Code::kUnavailable: the job has no service, or its head is
  /// gone.
  static Result<JobClient> connect(const std::string& folder);

  Result<job::v1::Snapshot> describe(std::chrono::milliseconds patience = kPatience);
  /// The same with the stacks of these workers, at most 16. Takes up to 5 s.
  Result<job::v1::Snapshot> describe(std::span<const std::uint32_t> stacks_of,
                                     std::chrono::milliseconds patience = kStacksPatience);
  /// As ControlClient::watch().
  Status watch(const std::function<bool(const job::v1::Snapshot&)>& got);
  Status cancel(const job::v1::CancelRequest& request);
  /// One line.
  Result<std::string> to_json(const job::v1::Snapshot& snapshot) const;

 private:
  JobClient(const ControlModule& module, std::unique_ptr<ControlClient> client)
      : module_(&module), client_(std::move(client)) {}

  const ControlModule* module_;  // never unloaded
  std::unique_ptr<ControlClient> client_;
};

}  // namespace paceline::launcher
