// A listener of ranks whose time is the test's, and peers that connect to it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "comm/listener.h"
#include "comm/socket.h"
#include "comm/transport/watched_listener.h"
#include "tests/harness/collecting_log.h"
#include "tests/unit/comm/patience.h"
#include "tests/unit/comm/raw_connection.h"

namespace paceline::testing {

// A listener on an engine, whose time is the test's: it stands still unless the test lets it pass.
class OpenListener final : public Driver {
 public:
  static constexpr std::size_t kMaxUnauthenticated = 64;

  OpenListener() {
    UniqueFd socket = listen_on(SocketAddress::parse("127.0.0.1:0").value()).value();
    address_ = SocketAddress::of_local_end(socket.get()).value();
    auto listener = Listener::create(
                        std::move(socket), &key_,
                        {.name = "rank 1", .log = log_, .max_unauthenticated = kMaxUnauthenticated},
                        [this](AuthenticatedConnection& connection) { return settle(connection); })
                        .value();
    const Engine::Baton baton = engine_->hold();
    listener_ = WatchedListener::create(*engine_, std::move(listener)).value();
    engine_->attach(*this);
  }
  ~OpenListener() override {
    const Engine::Baton baton = engine_->hold();
    engine_->detach(*this);
    listener_.reset();
  }

  bool drive(TimePoint) override { return listener_->drive(now_); }

  const SocketAddress& address() const { return address_; }
  const JobKey& key() const { return key_; }
  const CollectingLog& log() const { return *log_; }
  /// The ranks whose connections were accepted.
  const std::vector<std::int32_t>& peers() const { return peers_; }
  std::size_t unauthenticated() const { return listener_->listener().unauthenticated(); }
  std::uint64_t refused() const { return listener_->listener().refused(); }
  /// How long the listener sleeps at most when nothing comes in.
  Duration rest() const { return listener_->wake_at() - now_; }

  void pass(Duration time) { now_ += time; }
  void refuse_peers(Status why) { verdict_ = std::move(why); }
  bool serve_until(FunctionRef<bool()> condition, Deadline deadline = patient()) {
    return engine_->wait(condition, deadline);
  }
  /// All that can happen before time passes: until nothing has for a while, twice, since this
  /// process may have been kept from its CPU for the whole of one.
  void settle() {
    const auto seen = [this] { return std::tuple(unauthenticated(), refused(), peers_.size()); };
    for (int quiet = 0; quiet < 2;) {
      const auto before = seen();
      (void)serve_until([] { return false; }, brief());
      quiet = seen() == before ? quiet + 1 : 0;
    }
  }

 private:
  Status settle(AuthenticatedConnection& connection) {
    if (!verdict_.ok()) return verdict_;
    peers_.push_back(connection.hello().from);
    return connection.welcome().status();
  }

  const std::shared_ptr<PollEngine> engine_ =
      PollEngine::create({.spin_rounds = 0, .yield_rounds = 0}).value();
  const JobKey key_ = JobKey::generate().value();
  const std::shared_ptr<CollectingLog> log_ = std::make_shared<CollectingLog>();
  SocketAddress address_;
  std::unique_ptr<WatchedListener> listener_;
  TimePoint now_ = TimePoint() + std::chrono::hours(1);
  std::vector<std::int32_t> peers_;
  Status verdict_;
};

inline DialerHandshake::Nonce fresh_nonce() {
  DialerHandshake::Nonce nonce;
  EXPECT_TRUE(fill_system_random(nonce).ok());
  return nonce;
}

// The hello that answers the challenge which has come.
inline Bytes hello_for(RawConnection& connection, const JobKey& key, std::int32_t from) {
  DialerHandshake dialer(key, {.from = from}, fresh_nonce());
  return dialer.answer(connection.receive(kChallengeBytes)).value();
}

inline std::vector<std::unique_ptr<RawConnection>> silent_connections(const OpenListener& listener,
                                                                      int count) {
  std::vector<std::unique_ptr<RawConnection>> connections;
  for (int i = 0; i < count; ++i) {
    connections.push_back(std::make_unique<RawConnection>(listener.address()));
    EXPECT_TRUE(connections.back()->connected());
  }
  return connections;
}

}  // namespace paceline::testing
