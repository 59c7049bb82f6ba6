// The agent's side of a trial that another agent dials: a listening port for the time before a
// job's ranks start.
//
//   dialer                             server
//                                  ←   challenge    (comm/handshake.h)
//     hello: from, to, length      →
//     filler of that length        →
//                                  ←   welcome
//                                  ←   filler of that length
//                                  ←   one byte, when all filler has come
//
// Hello and welcome go in packets of their own: they come through where longer ones are lost. The
// hello has the length where others have their group.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>

#include <paceline/status.h>

#include "comm/base/port_range.h"
#include "comm/job_key.h"
#include "comm/listener.h"
#include "launcher/connectivity/pair_socket.h"
#include "launcher/system/event_loop.h"
#include "launcher/system/loop_driver.h"

namespace paceline::launcher {

/// Serves peers that prove the job's key; others are limited and closed by comm/listener.h.
///
/// Belongs to the loop's thread.
class TrialServer {
 public:
  static constexpr std::size_t kMaxUnauthenticated = 256;
  /// While this number of trials is served, connections wait in the kernel's queue.
  /// Connections that were accepted before may exceed it by kMaxUnauthenticated.
  static constexpr std::size_t kMaxTrials = 256;
  static constexpr std::size_t kMaxLongBytes = std::size_t{256} << 10;
  /// For a trial, from its welcome on.
  static constexpr Duration kMaxTime = std::chrono::seconds(5);

  struct Options {
    std::uint32_t host_index = 0;
    PortRange ports{};
    std::shared_ptr<Log> log;  ///< names refused peers; may be null
  };

  /// Listens on every address of this host, as the addresses to be tried are not known yet. The key
  /// is borrowed.
  static Result<std::unique_ptr<TrialServer>> open(EventLoop& loop, const JobKey& key,
                                                   const Options& options);
  TrialServer(const TrialServer&) = delete;
  TrialServer& operator=(const TrialServer&) = delete;

  int port() const { return port_; }
  std::uint64_t refused() const { return listener_->refused(); }

 private:
  enum class Stage { kLong, kLast };
  struct Trial {
    std::optional<PairSocket> socket;
    TimePoint began{};
    Stage stage = Stage::kLong;
    std::size_t long_bytes = 0;
  };
  using Place = std::list<Trial>::iterator;

  TrialServer(EventLoop& loop, const Options& options, int port)
      : loop_(loop), host_index_(options.host_index), port_(port) {}
  TimePoint drive();
  Status settle(AuthenticatedConnection& connection);
  void begin(UniqueFd fd, std::size_t long_bytes);
  void drive(Place trial);
  static bool move(Trial& trial);

  EventLoop& loop_;
  const std::uint32_t host_index_;
  const int port_;
  std::unique_ptr<Listener> listener_;
  std::list<Trial> trials_;  // the oldest first
  std::optional<LoopDriver> driver_;
};

}  // namespace paceline::launcher
