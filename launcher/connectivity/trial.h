// One address of another host, tried: whether a connection comes about, the right host answers, and
// messages longer than any packet go both ways (trial_server.h has the other end).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include <paceline/status.h>

#include "comm/handshake.h"
#include "comm/job_key.h"
#include "comm/socket.h"
#include "launcher/channel/messages.pb.h"
#include "launcher/connectivity/pair_socket.h"
#include "launcher/system/event_loop.h"

namespace paceline::launcher {

/// Belongs to the loop's thread.
class TrialDial {
 public:
  using Ended = std::function<void(messages::TrialEnd)>;
  struct Options {
    std::uint32_t from = 0;  ///< index of this host
    std::uint32_t to = 0;
    std::uint32_t long_bytes = 0;
  };

  /// The key is borrowed. `ended` is called once, from the loop or from give_up(), and may destroy
  /// this.
  TrialDial(EventLoop& loop, const JobKey& key, const Options& options, Ended ended);

  void start(const SocketAddress& address);
  /// Its time is over.
  void give_up();

 private:
  enum class Stage { kConnecting, kChallenge, kWelcome, kLong };
  using Outcome = std::optional<messages::TrialEnd>;  // nothing: it goes on

  void drive();
  Outcome move();
  Outcome connect();
  Outcome answer();
  Outcome read_welcome();
  messages::TrialEnd overdue() const;
  void end(messages::TrialEnd how);

  EventLoop& loop_;
  const std::uint32_t long_bytes_;
  Ended ended_;  // empty once it has been called
  Status broken_;
  DialerHandshake handshake_;
  std::optional<PairSocket> socket_;
  Stage stage_ = Stage::kConnecting;
};

}  // namespace paceline::launcher
