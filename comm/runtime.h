// What the communicators of a process stand on: the environment, the log, the engine, and how its
// processes reach each other. Communicator::init() makes one for the ranks that have met; split()
// makes further groups of them on it, which share all this and open nothing of their own.
//
//   communicators → transports → HostRoom, TcpPort → PollEngine
//
// The last communicator that stands on it ends it. What works hold beyond that is the engine alone
// (paceline/work.h).
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <paceline/group.h>
#include <paceline/status.h>

#include "comm/base/environment.h"
#include "comm/host_map.h"
#include "comm/host_room.h"
#include "comm/job_key.h"
#include "comm/poll_engine.h"
#include "telemetry/flight_ring.h"
#include "telemetry/log.h"

namespace paceline {

class TcpPort;

class Runtime {
 public:
  /// `local_ranks`: how many ranks run on this host.
  static Result<std::shared_ptr<Runtime>> create(Environment environment, int local_ranks);
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  const Environment& environment() const { return environment_; }
  const std::shared_ptr<Log>& log() const { return log_; }
  const std::shared_ptr<PollEngine>& engine() const { return engine_; }
  const Clock& clock() const { return engine_->clock(); }
  /// As errors show it.
  std::string host_name() const;
  /// What names in /dev/shm begin with: by it whoever clears up after a killed job finds them.
  std::string shared_prefix() const;

  /// Set once, when the processes have met: by rank, and which of them this one is.
  void set_world(Group world) { world_ = std::move(world); }
  const Group& world() const { return world_; }
  /// Set once, when the processes have met: which of them share memory.
  void set_hosts(HostMap hosts) { hosts_ = std::move(hosts); }
  const HostMap& hosts() const { return hosts_; }
  /// That of this process's host; null if it shares memory with no other.
  void set_room(std::shared_ptr<HostRoom> room) { room_ = std::move(room); }
  const std::shared_ptr<HostRoom>& room() const { return room_; }
  /// Null as long as all groups have shared memory. Any thread.
  void set_port(std::shared_ptr<TcpPort> port);
  std::shared_ptr<TcpPort> port() const;
  /// Held by who opens a port, so that there is one.
  std::mutex& opening() { return opening_; }
  /// The job's, for a port. Null: this process meets no other.
  void set_key(JobKey key) { key_ = std::move(key); }
  const JobKey* key() const { return key_ ? &*key_ : nullptr; }

  /// The shared memory of all groups that live. Any thread.
  void note_segment(const std::shared_ptr<SharedSegment>& segment);
  std::size_t shared_bytes() const;

  /// Where the operations of a group are recorded; an empty name is the whole world's. Where the
  /// launcher does not see them, because its ring has no free part or a wrapper has closed its
  /// descriptor, it is a ring of this process.
  std::unique_ptr<FlightRing> flight_ring(const std::string& group) const;

 private:
  Runtime(Environment environment, std::shared_ptr<Log> log, std::shared_ptr<PollEngine> engine)
      : environment_(std::move(environment)), log_(std::move(log)), engine_(std::move(engine)) {}

  const Environment environment_;
  const std::shared_ptr<Log> log_;            // owners: all that write to it
  const std::shared_ptr<PollEngine> engine_;  // owners: see Work
  Group world_;
  HostMap hosts_;
  std::shared_ptr<HostRoom> room_;  // owners: all transports between its members
  std::optional<JobKey> key_;
  mutable std::mutex mutex_;  // guards what follows
  std::vector<std::weak_ptr<SharedSegment>> segments_;
  std::shared_ptr<TcpPort> port_;  // owners: all groups that it accepts for
  std::mutex opening_;
};

}  // namespace paceline
