// Accepts connections and keeps them until their owner has authenticated the peers, by the policy
// of comm/unauthenticated_book.h. How peers prove that they belong to the job is the owner's part:
// comm/listener.h by the job's key, launcher/channel/agent_server.h by TLS and a token.
//
// The I/O multiplexing is the user's: one descriptor becomes readable when something has come, and
// one time says when to drive anyway. So poll(2), epoll and event loops serve alike:
//
//   poll({acceptor.fd(), POLLIN}, until acceptor.wake_at())
//   acceptor.drive(now)
//
// The descriptor is an epoll(7) with edge-triggered entries. So connections cost nothing until they
// do something, and connections that wait for a place do not keep the descriptor readable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include <paceline/status.h>

#include "comm/base/clock.h"
#include "comm/base/epoll.h"
#include "comm/base/unique_fd.h"
#include "comm/bytes.h"
#include "comm/refusal_log.h"
#include "comm/unauthenticated_book.h"

namespace paceline {

/// One thread; refused() any thread.
class Acceptor final {
 public:
  using Id = UnauthenticatedBook::Id;
  /// One drive accepts at most this number, so that it returns soon.
  static constexpr int kMaxAccepts = 8;

  /// Called by drive(). May call back, except for drive() and the destructor.
  class Owner {
   public:
    /// Begins to authenticate the peer of a new connection.
    virtual void accepted(Id id) = 0;
    /// The connection has ended, or can be read (Options::reports_data). Edge-triggered.
    virtual void on_ready(Id id) = 0;
    /// The connection was too old, or gave way. It is closed and logged.
    virtual void closed(Id id) = 0;

   protected:
    ~Owner() = default;
  };

  struct Options {
    std::string name;          ///< in the log: "rank 3 at 127.0.0.1:4000"
    std::shared_ptr<Log> log;  ///< may be null
    std::size_t max_connections = 0;
    /// The owner reads from connections. It closes a connection after a bounded number of bytes.
    bool reports_data = false;
    /// Tells a peer that this process lacks descriptors. Empty: peers are not told.
    Bytes shortage_notice;
  };

  /// `listening` is a socket of listen_on(). The owner is borrowed.
  static Result<std::unique_ptr<Acceptor>> create(UniqueFd listening, Owner& owner,
                                                  Options options);
  /// Closes the connections that it has, without calls of the owner.
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  int fd() const { return epoll_.fd(); }
  /// Does what can be done without blocking. True if anything moved.
  bool drive(TimePoint now);
  /// When to drive at the latest; long ago if there is something to do at once.
  TimePoint wake_at() const { return book_.wake_at(more_wait_); }
  /// UnauthenticatedBook::limit_to().
  void limit_to(std::size_t max_connections) { book_.limit_to(max_connections); }

  /// The connection stays the acceptor's.
  int connection(Id id) const { return connections_.at(id).fd.get(); }
  /// Its address, or its user if the socket is a Unix socket.
  const std::string& peer(Id id) const { return connections_.at(id).peer; }
  /// The connection is the caller's; it is not watched any more.
  UniqueFd take(Id id);

  // Each of these ends the connection, unless it was taken. Its id is not valid any more.
  void authenticated(Id id);
  void refuse(Id id, std::string_view why);
  /// The peer has closed the connection before it sent anything. This is not logged: peers do so
  /// if they have found another connection.
  void left(Id id);

  std::size_t unauthenticated() const { return book_.open(); }
  std::uint64_t refused() const { return refusals_.count(); }

 private:
  struct Connection {
    UniqueFd fd;
    std::string peer;
  };

  Acceptor(UniqueFd listening, Epoll epoll, Owner& owner, Options options);
  bool take_events();
  bool accept_one(TimePoint now);
  void admit(UniqueFd fd, TimePoint now);
  bool failed(TimePoint now, const Status& why);
  bool tell_of_shortage();
  void close(Id id, std::string_view why);
  void end(Id id);
  Status watch(int fd, std::uint32_t events, std::uint64_t id);
  void forget(int fd);
  void keep_spare();

  const UniqueFd listening_;
  const Epoll epoll_;
  Owner& owner_;
  const bool reports_data_;
  const Bytes shortage_notice_;
  UniqueFd spare_;  // given up for a connection that is told of the lack of descriptors
  RefusalLog refusals_;
  UnauthenticatedBook book_;
  std::map<Id, Connection> connections_;
  bool more_wait_ = true;  // the kernel may have another connection
};

}  // namespace paceline
