// TcpPort: the listener of a process for the others of its job, and its connections to them
// (tcp_link.h), which all groups share. Connections that have not proven the key: see
// comm/listener.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include <paceline/group.h>

#include "comm/base/port_range.h"
#include "comm/job_key.h"
#include "comm/poll_engine.h"
#include "comm/socket.h"
#include "comm/transport/tcp_link.h"
#include "comm/transport/watched_listener.h"

namespace paceline {

class Log;

/// Made before the port, since the address is part of what ranks tell each other first.
class TcpListener {
 public:
  /// On a numeric address without a port ("127.0.0.1", "::1"). The port is the first free one
  /// of `ports`, or one that the kernel chooses.
  static Result<TcpListener> open(const std::string& host_address, PortRange ports = {});

  const std::string& address() const { return address_; }
  UniqueFd release() { return std::move(fd_); }

 private:
  TcpListener(UniqueFd fd, std::string address)
      : fd_(std::move(fd)), address_(std::move(address)) {}
  UniqueFd fd_;
  std::string address_;
};

class TcpPort final : private Driver {
 public:
  /// A rank's descriptors are for its peers.
  static constexpr std::size_t kMaxUnauthenticated = 64;

  struct Options {
    std::string name;          ///< in the log: "rank 3"
    std::shared_ptr<Log> log;  ///< names refused connections; may be null
    bool integrity = false;    ///< data is sealed (sealed_stream.h); the same on all processes
    /// The processes that may connect, by their ranks in this group, and which of them this one is.
    Group world;
  };
  /// Without a key there is no port: TCP is served only to peers that prove it.
  static Result<std::shared_ptr<TcpPort>> open(std::shared_ptr<PollEngine> engine,
                                               TcpListener listener, JobKey key, Options options);
  ~TcpPort() override;
  TcpPort(const TcpPort&) = delete;
  TcpPort& operator=(const TcpPort&) = delete;

  const std::shared_ptr<PollEngine>& engine() const { return engine_; }
  const std::string& address() const { return address_; }
  bool has_integrity() const { return common_.integrity; }

  /// The connections to another process of the world, which listens at `address`. Empty: the last
  /// known address. With the baton held; it lives as long as the port.
  TcpLink& link(int process, const std::string& address = {});
  /// Until release(), false for a group that has been claimed. With the baton held.
  bool claim(std::uint64_t group) { return groups_.insert(group).second; }
  void release(std::uint64_t group) { groups_.erase(group); }

 private:
  TcpPort(std::shared_ptr<PollEngine> engine, std::string address, JobKey key, Options options);
  Purpose purpose() const { return has_integrity() ? Purpose::kSealedData : Purpose::kData; }
  bool drive(TimePoint now) override;
  TimePoint wake_at() const override;
  Status settle(AuthenticatedConnection& arrival);

  const std::shared_ptr<PollEngine> engine_;  // owners: see Work
  const std::string address_;
  const JobKey key_;
  const Options options_;
  const std::uint64_t world_;  // digest of its name
  TcpLink::Common common_;
  std::unique_ptr<WatchedListener> listener_;
  std::map<int, std::unique_ptr<TcpLink>> links_;  // by process
  std::set<std::uint64_t> groups_;
};

}  // namespace paceline
