#include "launcher/agent/meeting.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "comm/base/environment.h"
#include "comm/base/try.h"
#include "launcher/agent/rank_environment.h"
#include "launcher/system/host.h"
#include "telemetry/log.h"

namespace paceline::launcher {

namespace {

// If the ranks' environment is malformed, the ranks report it themselves.
Environment environment_of_ranks(const Variables& changes) {
  const auto lookup = [&changes](const char* name) { return value_of(name, changes, ::getenv); };
  Result<Environment> environment = read_environment(lookup);
  return environment.ok() ? *std::move(environment) : Environment();
}

}  // namespace

Result<OpenMeeting> open_meeting(const messages::Start& start, JobKey key, LiveAnswers live) {
  const Environment environment = environment_of_ranks(start.apps(0).environment());
  const StoreServerOptions options{.log = make_stderr_log({.level = environment.log_level}),
                                   .live = std::move(live),
                                   .ports = environment.port_range};
  OpenMeeting open;
  if (start.address().empty()) {
    const std::string name = "@paceline-" + start.job_id();
    PACELINE_TRY_ASSIGN(open.store, StoreServer::serve_unix(name, options));
    open.meeting.set_store("unix:" + name);
    open.meeting.set_master_address("127.0.0.1");
  } else {
    PACELINE_TRY_ASSIGN(const SocketAddress address, SocketAddress::resolve(start.address(), 0));
    PACELINE_TRY_ASSIGN(
        open.store,
        StoreServer::serve_tcp(address, std::make_unique<JobKey>(std::move(key)), options));
    open.meeting.set_store("tcp:" + open.store->address().to_string());
    open.meeting.set_master_address(start.address());
  }
  PACELINE_TRY_ASSIGN(const int port,
                      free_port(open.meeting.master_address(), environment.port_range));
  open.meeting.set_master_port(static_cast<std::uint32_t>(port));
  return open;
}

Result<JobKey> job_key_of(const messages::Start& start) {
  std::array<std::byte, JobKey::kBytes> bytes;
  if (start.job_key().size() != bytes.size())
    return Status(Code::kInternal, Scope::kOperation, "the launcher sent no job key");
  std::memcpy(bytes.data(), start.job_key().data(), bytes.size());
  return JobKey::from_bytes(bytes);
}

}  // namespace paceline::launcher
