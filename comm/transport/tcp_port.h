// Where a process accepts its peers, for all groups that it is in: the listening socket, the job's
// key, and which group a connection is for. Connections that have not proven the key: see
// comm/transport/tcp_door.h.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <paceline/group.h>

#include "comm/base/port_range.h"
#include "comm/job_key.h"
#include "comm/poll_engine.h"
#include "comm/socket.h"
#include "comm/transport/tcp_door.h"

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
  struct Options {
    std::string name;          ///< in the log: "rank 3"
    std::shared_ptr<Log> log;  ///< names refused strangers; may be null
    bool integrity = false;    ///< data is sealed (sealed_stream.h); the same on all ranks
  };
  /// Without a key there is no port: TCP is never served to strangers.
  static Result<std::shared_ptr<TcpPort>> open(std::shared_ptr<PollEngine> engine,
                                               TcpListener listener, JobKey key, Options options);
  ~TcpPort() override;
  TcpPort(const TcpPort&) = delete;
  TcpPort& operator=(const TcpPort&) = delete;

  const std::shared_ptr<PollEngine>& engine() const { return engine_; }
  const JobKey& key() const { return key_; }
  const std::string& address() const { return address_; }
  bool has_integrity() const { return options_.integrity; }

  /// Hears of connections for a group whose other ends have proven the key.
  class Owner {
   public:
    /// Decides what becomes of it; an error refuses it. With the baton held.
    virtual Status arrived(TcpArrival& arrival) = 0;

   protected:
    ~Owner() = default;
  };
  /// From now on, until remove(); the owner is borrowed. Code::kInvalidArgument: there is a group
  /// of this name and epoch. With the baton held.
  Status add(const Group& group, Owner& owner);
  void remove(const Group& group);

 private:
  using GroupId = std::pair<std::uint64_t, std::uint32_t>;  // digest of the name, epoch
  static GroupId id_of(const Group& group);

  TcpPort(std::shared_ptr<PollEngine> engine, std::string address, JobKey key, Options options);
  bool drive(TimePoint now) override;
  TimePoint wake_at() const override { return door_->wake_at(); }
  Status settle(TcpArrival& arrival);

  const std::shared_ptr<PollEngine> engine_;  // owners: see Work
  const std::string address_;
  const JobKey key_;
  const Options options_;
  std::unique_ptr<TcpDoor> door_;
  std::map<GroupId, Owner*> owners_;
};

}  // namespace paceline
