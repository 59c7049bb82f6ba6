// Listener: accepts the peers of a job. A peer proves the job's key before anything else of it is
// parsed (comm/handshake.h). Unauthenticated connections are limited in number and time; that
// policy, and how to wait, are those of comm/acceptor.h.
//
//   auto listener = Listener::create(listen_on(address).value(), &key, options,
//       [&](AuthenticatedConnection& connection) -> Status {
//         if (connection.hello().purpose != Purpose::kStore) return denied("…");
//         PACELINE_TRY_ASSIGN(UniqueFd fd, connection.welcome());
//         ...
//       });
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <paceline/status.h>

#include "comm/acceptor.h"
#include "comm/handshake.h"

namespace paceline {

/// A connection whose peer has proven the job's key and waits for the verdict. Closed by the
/// destructor, unless it is welcome.
class AuthenticatedConnection {
 public:
  AuthenticatedConnection(UniqueFd fd, AcceptorHandshake handshake, const Hello& hello)
      : fd_(std::move(fd)), handshake_(std::move(handshake)), hello_(hello) {}
  /// From a user whom the Unix socket lets in: there is neither a hello nor a verdict.
  explicit AuthenticatedConnection(UniqueFd fd) : fd_(std::move(fd)) {}

  const Hello& hello() const { return hello_; }
  /// AcceptorHandshake::secret().
  Mac secret() const { return handshake_->secret(); }
  /// Tells the peer that it is accepted; the descriptor is the caller's. Nothing beyond the hello
  /// has been read from it. Code::kPeerLost: the connection has ended.
  Result<UniqueFd> welcome();
  /// Tells the peer why it is not accepted.
  void decline(Verdict why);

 private:
  bool send(Verdict verdict);

  UniqueFd fd_;
  std::optional<AcceptorHandshake> handshake_;
  Hello hello_;
};

/// One thread; refused() any thread.
class Listener final : private Acceptor::Owner {
 public:
  /// Decides on a connection; an error refuses it and is logged. Called by drive().
  using Settle = std::function<Status(AuthenticatedConnection&)>;

  struct Options {
    std::string name;          ///< in the log: "rank 3 at 127.0.0.1:4000"
    std::shared_ptr<Log> log;  ///< may be null
    std::size_t max_unauthenticated = 0;
  };

  /// `listening` is a socket of listen_on(). The key is borrowed. Null: a Unix socket, which this
  /// process's user and root may use (SO_PEERCRED).
  static Result<std::unique_ptr<Listener>> create(UniqueFd listening, const JobKey* key,
                                                  Options options, Settle settle);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  /// These are the functions of Acceptor.
  int fd() const { return acceptor_->fd(); }
  bool drive(TimePoint now) { return acceptor_->drive(now); }
  TimePoint wake_at() const { return acceptor_->wake_at(); }
  void limit_to(std::size_t max_unauthenticated) { acceptor_->limit_to(max_unauthenticated); }
  std::size_t unauthenticated() const { return acceptor_->unauthenticated(); }
  std::uint64_t refused() const { return acceptor_->refused(); }

 private:
  using Id = Acceptor::Id;
  struct Handshake {
    AcceptorHandshake acceptor;
    Bytes incoming;
  };

  Listener(const JobKey* key, Settle settle) : key_(key), settle_(std::move(settle)) {}
  void accepted(Id id) override;
  void on_ready(Id id) override;
  void closed(Id id) override { handshakes_.erase(id); }
  Status challenge(Id id);
  void admit_user(Id id);
  void authenticate(Id id);
  void settle(Id id, AuthenticatedConnection connection);

  const JobKey* const key_;
  const Settle settle_;
  std::map<Id, Handshake> handshakes_;
  std::unique_ptr<Acceptor> acceptor_;
};

}  // namespace paceline
