// Where a rank accepts its peers: the listening socket, and the connections that have not proven
// the key.
//
//   kernel's queue → kMaxStrangers connections → proven: the transport's    (settle)
//                                              → refused: counted, logged   (StrangerBook)
//
// Strangers cost what they do, not what there are of them: a connection is looked at when the
// engine has reported it, and no more than kAcceptsPerDrive are accepted at a time. Whoever proves
// the key makes room at once; the place of any other stays taken for kLeastTime, refused or not,
// and then the oldest gives way to a newer one. So a flood neither keeps a peer out nor takes more
// of the job's time than kMaxStrangers greetings per kLeastTime. As the job may not have driven the
// door for long, nobody is refused for the time unless a last look shows that no proof has come. A
// peer whose connection gave way all the same dials again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "comm/base/function_ref.h"
#include "comm/job_key.h"
#include "comm/poll_engine.h"
#include "comm/stranger_book.h"
#include "comm/transport/tcp_greeting.h"

namespace paceline {

class TcpDoor final : private FdHandler {
 public:
  static constexpr std::size_t kMaxStrangers = 64;
  static constexpr int kAcceptsPerDrive = 8;
  static constexpr Duration kGreetingTime = std::chrono::seconds(10);
  static constexpr Duration kLeastTime = std::chrono::milliseconds(100);
  /// Rest after the system refused to hand out a connection, say for want of descriptors.
  static constexpr Duration kPause = std::chrono::milliseconds(500);

  struct Options {
    std::shared_ptr<Log> log;  ///< may be null
    std::string name;          ///< in the log: "rank 3 at 127.0.0.1:4000"
  };

  /// Decides what becomes of a connection whose other end has proven the key; an error refuses it.
  using Settle = FunctionRef<Status(TcpArrival&)>;

  /// Everything with the baton held. Engine and key are borrowed.
  TcpDoor(PollEngine& engine, UniqueFd listener, const JobKey& key, const Options& options);
  ~TcpDoor();
  TcpDoor(const TcpDoor&) = delete;
  TcpDoor& operator=(const TcpDoor&) = delete;

  /// Not ok if the engine cannot watch the listener: the door is of no use then.
  const Status& watched() const { return watched_; }
  /// What can be done without blocking; true if anything moved.
  bool drive(TimePoint now, Settle settle);
  TimePoint wake_at() const;

  /// Connections that have not proven the key.
  std::size_t strangers() const;
  std::uint64_t refused() const { return book_.count(); }

 private:
  struct Caller {
    std::string address;
    TimePoint since;
    std::unique_ptr<TcpArrival> arrival;  // null once it has been refused

    TimePoint leaves_at() const { return since + (arrival ? kGreetingTime : kLeastTime); }
  };

  bool on_ready(std::uint32_t) override { return knocking_ = true; }
  bool accept(TimePoint now, Settle settle);
  bool admit(TimePoint now);
  bool make_room(TimePoint now, Settle settle);
  TimePoint room_at() const;
  bool greet(TimePoint now, Settle settle);
  bool makes_room(Caller& caller, TimePoint now, Settle settle);
  bool lets_in(Caller& caller, GreetingState state, Settle settle);
  void refuse(Caller& caller, const Status& why);
  void pause(TimePoint now, const Status& why);

  PollEngine& engine_;
  const UniqueFd listener_;
  const JobKey& key_;
  const Options options_;
  StrangerBook book_;
  std::vector<Caller> callers_;  // oldest first
  bool knocking_ = true;         // the kernel may have another connection
  bool stirred_ = false;         // the engine has reported some caller
  bool paused_ = false;          // has ever been
  TimePoint rest_until_ = TimePoint::min();
  const Status watched_;
};

}  // namespace paceline
