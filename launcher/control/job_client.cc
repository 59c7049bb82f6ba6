#include "launcher/control/job_client.h"

#include <utility>

#include "comm/base/try.h"
#include "comm/socket.h"
#include "launcher/control/control_files.h"

namespace paceline::launcher {
namespace {

Status has_no_service(const std::string& why) {
  return Status(Code::kUnavailable, Scope::kPeer, "the job has no control service: " + why);
}

Result<job::v1::Snapshot> parse(const std::string& bytes) {
  job::v1::Snapshot snapshot;
  if (snapshot.ParseFromString(bytes)) return snapshot;
  return Status(Code::kInternal, Scope::kPeer, "the job sent a snapshot that cannot be parsed");
}

}  // namespace

Result<JobClient> JobClient::connect(const std::string& folder) {
  const Result<ControlFolder> entry = ControlFolder::open(folder);
  if (!entry.ok()) return has_no_service("it has no entry on this host, or has just ended");
  if (!entry->has_socket())
    return has_no_service(
        "it is starting, or its paceline is older than the service or was built without gRPC");
  Result<UniqueFd> connection = start_connect(entry->socket());
  if (!connection.ok())
    return has_no_service("`paceline run` does not accept connections, as it is ending or busy");
  PACELINE_TRY_ASSIGN(const ControlModule* module, load_control_module());
  return JobClient(*module, module->connect(*std::move(connection)));
}

Result<job::v1::Snapshot> JobClient::describe(std::chrono::milliseconds patience) {
  return describe({}, patience);
}

Result<job::v1::Snapshot> JobClient::describe(std::span<const std::uint32_t> stacks_of,
                                              std::chrono::milliseconds patience) {
  job::v1::DescribeRequest request;
  request.mutable_stacks_of()->Add(stacks_of.begin(), stacks_of.end());
  PACELINE_TRY_ASSIGN(
      const std::string bytes,
      client_->call(ControlMethod::kDescribe, request.SerializeAsString(), patience));
  return parse(bytes);
}

Status JobClient::watch(const std::function<bool(const job::v1::Snapshot&)>& got) {
  Status parsed;
  const Status ended = client_->watch([&](const std::string& bytes) {
    const Result<job::v1::Snapshot> snapshot = parse(bytes);
    parsed = snapshot.status();
    return snapshot.ok() && got(*snapshot);
  });
  return parsed.ok() ? ended : parsed;
}

Status JobClient::cancel(const job::v1::CancelRequest& request) {
  return client_->call(ControlMethod::kCancel, request.SerializeAsString(), kPatience).status();
}

Result<std::string> JobClient::to_json(const job::v1::Snapshot& snapshot) const {
  return module_->to_json(snapshot.SerializeAsString());
}

}  // namespace paceline::launcher
