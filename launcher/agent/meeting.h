// Where the ranks of a job meet: opened by the agent of its first host.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <paceline/status.h>

#include "comm/job_key.h"
#include "comm/store_server.h"
#include "launcher/channel/messages.pb.h"

namespace paceline::launcher {

struct OpenMeeting {
  messages::Meeting meeting;
  std::unique_ptr<StoreServer> store;  ///< serves it until it is destroyed
};

/// On a job of one host, the kernel refuses processes of other users, except root. On a job of
/// several hosts, processes without the key are refused. Refusals are logged at the log level of
/// the ranks. `live`: see StoreServerOptions.
using LiveAnswers = std::function<std::optional<std::string>(std::string_view key)>;
Result<OpenMeeting> open_meeting(const messages::Start& start, JobKey key, LiveAnswers live);

Result<JobKey> job_key_of(const messages::Start& start);

}  // namespace paceline::launcher
