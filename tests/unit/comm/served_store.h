// A store in this process, on an abstract Unix socket or on loopback, and clients of it.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "comm/store_client.h"
#include "comm/store_server.h"
#include "tests/unit/comm/patience.h"
#include "tests/unit/comm/socket_name.h"

namespace paceline::testing {

enum class StoreSocket { kUnix, kTcp };
inline std::string name(StoreSocket socket) {
  return socket == StoreSocket::kUnix ? "unix" : "tcp";
}

inline JobKey copy_of(const JobKey& key) {
  return JobKey::from_descriptor(key.to_memfd().value().get()).value();
}

class ServedStore {
 public:
  explicit ServedStore(StoreSocket socket, StoreServerOptions options = {}) {
    server_ =
        socket == StoreSocket::kUnix
            ? StoreServer::serve_unix(fresh_socket_name(), std::move(options)).value()
            : StoreServer::serve_tcp(SocketAddress::parse("127.0.0.1:0").value(),
                                     std::make_unique<JobKey>(copy_of(key_)), std::move(options))
                  .value();
    address_ = server_->address();
  }

  const JobKey& key() const { return key_; }
  const SocketAddress& address() const { return address_; }
  std::uint64_t refused() const { return server_->refused(); }
  void stop() { server_.reset(); }
  void rank_ended(int rank) { server_->rank_ended(rank, "exit code 0"); }

  static std::shared_ptr<PollEngine> engine() {
    return PollEngine::create({.spin_rounds = 0, .yield_rounds = 0}).value();
  }
  /// With an engine of its own.
  std::unique_ptr<StoreClient> client() const {
    return StoreClient::connect(engine(), address_, &key_, patient()).value();
  }

 private:
  const JobKey key_ = JobKey::generate().value();
  std::unique_ptr<StoreServer> server_;
  SocketAddress address_;
};

/// One value, or nothing when it has not come by `deadline`.
inline Result<std::optional<std::string>> get_one(StoreClient& client, const std::string& key,
                                                  Deadline deadline = patient()) {
  auto values = client.get(std::span(&key, 1), deadline);
  if (!values.ok()) return values.status();
  return std::move((*values)[0]);
}

}  // namespace paceline::testing
