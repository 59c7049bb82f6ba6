#include "collectives/meeting.h"

#include <string>
#include <string_view>
#include <utility>

#include "collectives/unique_id.h"
#include "comm/base/try.h"

namespace paceline {
namespace {

Result<SocketAddress> store_address(const Environment& environment) {
  constexpr std::string_view kTcp = "tcp:";
  const std::string_view store = environment.store;
  if (store.starts_with("unix:")) return SocketAddress::parse(store);
  if (store.starts_with(kTcp)) return SocketAddress::parse(store.substr(kTcp.size()));
  if (!store.empty())
    return setting_error("PACELINE_STORE=" + environment.store +
                         " is not allowed; use unix:PATH or tcp:HOST:PORT");
  if (!environment.master_port) {
    return setting_error(
        "several ranks need a rendezvous: start them with `paceline run`, or set MASTER_ADDR and "
        "MASTER_PORT to the host of rank 0 and a free port there");
  }
  return SocketAddress::resolve(
      environment.master_addr.empty() ? "127.0.0.1" : environment.master_addr,
      *environment.master_port);
}

Result<JobKey> key_of_environment(const Environment& environment) {
  PACELINE_TRY_ASSIGN(auto key, JobKey::from_environment(environment));
  if (key != nullptr) return std::move(*key);
  return Status(Code::kDenied, Scope::kProcess,
                "TCP between ranks requires a job key. Start the ranks with `paceline run`, or set "
                "PACELINE_JOB_KEY_FILE on every rank to a file of mode 0600 with the same 64 "
                "hexadecimal digits");
}

}  // namespace

Result<Meeting> meeting_of_environment(const Environment& environment, int rank,
                                       const std::shared_ptr<Log>& log) {
  PACELINE_TRY_ASSIGN(JobKey key, key_of_environment(environment));
  PACELINE_TRY_ASSIGN(const SocketAddress address, store_address(environment));
  const bool without_launcher = environment.store.empty();
  std::unique_ptr<StoreServer> server;
  if (without_launcher && rank == 0) {
    PACELINE_TRY_ASSIGN(auto its_key, JobKey::from_environment(environment));
    PACELINE_TRY_ASSIGN(server, StoreServer::serve_tcp(address, std::move(its_key), {.log = log}));
  }
  return Meeting{.address = address,
                 .key = std::move(key),
                 .server = std::move(server),
                 .outlives_ranks = !without_launcher};
}

Result<Meeting> meeting_of_id(const UniqueId& id) {
  PACELINE_TRY_ASSIGN(MeetingPlace place, read_unique_id(id));
  return Meeting{
      .address = place.address, .key = std::move(place.key), .server = take_server_of(id)};
}

}  // namespace paceline
