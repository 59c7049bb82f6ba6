// Where an agent is tried: a listening port for the time before a job's ranks start.
//
//   dialer                             door
//                                  ←   challenge    (comm/handshake.h)
//     hello: from, to, length      →
//     so many bytes                →
//                                  ←   welcome
//                                  ←   so many bytes
//                                  ←   one byte, when all have come
//
// Hello and welcome go in packets of their own: they come through where longer ones are lost. The
// hello has the length where others have their group.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <paceline/status.h>

#include "comm/base/port_range.h"
#include "comm/handshake.h"
#include "comm/job_key.h"
#include "comm/stranger_book.h"
#include "launcher/connectivity/pair_socket.h"
#include "launcher/system/event_loop.h"

namespace paceline::launcher {

/// Everybody who does not prove the job's key with his first bytes is hung up on. There is room for
/// kMaxCallers; when it is full, the oldest that has proven nothing gives way once it has had
/// kLeastTime, so that a flood of strangers keeps nobody out for long.
///
/// Belongs to the loop's thread.
class TrialDoor {
 public:
  static constexpr std::size_t kMaxCallers = 256;
  static constexpr std::size_t kMaxLongBytes = std::size_t{256} << 10;
  static constexpr Duration kLeastTime = std::chrono::milliseconds(100);
  static constexpr Duration kPatience = std::chrono::seconds(5);

  struct Options {
    std::uint32_t host_index = 0;
    PortRange ports{};
    std::shared_ptr<Log> log;  ///< hears of strangers; may be null
  };

  /// On every address of this host: what is to be tried is not known yet. The key is borrowed.
  static Result<std::unique_ptr<TrialDoor>> open(EventLoop& loop, const JobKey& key,
                                                 const Options& options);
  ~TrialDoor();
  TrialDoor(const TrialDoor&) = delete;
  TrialDoor& operator=(const TrialDoor&) = delete;

  int port() const { return port_; }
  std::uint64_t refused() const { return book_.count(); }

 private:
  enum class Stage { kHello, kLong, kLast };
  struct Caller {
    Caller(const JobKey& key, const AcceptorHandshake::Nonce& nonce) : handshake(key, nonce) {}
    AcceptorHandshake handshake;
    std::optional<PairSocket> socket;
    std::string address;
    TimePoint came{};
    Stage stage = Stage::kHello;
    std::size_t long_bytes = 0;
  };
  using Place = std::list<Caller>::iterator;

  TrialDoor(EventLoop& loop, const JobKey& key, const Options& options, UniqueFd listener,
            int port);
  void listen(bool on);
  void accept();
  void admit(UniqueFd fd);
  bool make_room();
  void drive(Place caller);
  bool move(Caller& caller);
  static std::size_t wanted_of(const Caller& caller);
  bool greet(Caller& caller);
  static void finish(Caller& caller);
  void refuse(Place caller, std::string_view why);
  void let_go_of_the_late();

  EventLoop& loop_;
  const JobKey& key_;
  const std::uint32_t host_index_;
  const UniqueFd listener_;
  const int port_;
  StrangerBook book_;
  std::list<Caller> callers_;  // the oldest first
  EventLoop::TimerId sweep_{};
  std::optional<EventLoop::TimerId> again_;
};

}  // namespace paceline::launcher
