#include "launcher/agent/store_service.h"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>

#include "comm/base/environment.h"
#include "comm/base/try.h"
#include "launcher/agent/key_service.h"
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

Status StoreService::prepare(const messages::Start& start) {
  if (!start.has_meeting()) return open(start);
  meeting_ = start.meeting();
  return {};
}

Status StoreService::open(const messages::Start& start) {
  const Environment environment = environment_of_ranks(start.apps(0).environment());
  const StoreServerOptions options{
      .log = make_stderr_log({.level = environment.log_level}),
      .live = [flights = flights_](std::string_view key) { return flights->answer(key); },
      .ports = environment.port_range};
  if (start.address().empty()) {
    const std::string name = "@paceline-" + start.job_id();
    PACELINE_TRY_ASSIGN(store_, StoreServer::serve_unix(name, options));
    meeting_.set_store("unix:" + name);
    meeting_.set_master_address("127.0.0.1");
  } else {
    PACELINE_TRY_ASSIGN(const SocketAddress address, SocketAddress::resolve(start.address(), 0));
    PACELINE_TRY_ASSIGN(JobKey key, job_key_of(start));
    PACELINE_TRY_ASSIGN(
        store_, StoreServer::serve_tcp(address, std::make_unique<JobKey>(std::move(key)), options));
    meeting_.set_store("tcp:" + store_->address().to_string());
    meeting_.set_master_address(start.address());
    serves_others_ = true;
  }
  PACELINE_TRY_ASSIGN(const int port, free_port(meeting_.master_address(), environment.port_range));
  meeting_.set_master_port(static_cast<std::uint32_t>(port));
  return {};
}

void StoreService::ended_well(const messages::RankEnded& ended) {
  if (store_) store_->rank_ended(static_cast<int>(ended.rank()), ended.how());
}

}  // namespace paceline::launcher
