#include "comm/transport/tcp.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "comm/base/assert.h"
#include "comm/base/digest.h"
#include "comm/base/random.h"
#include "comm/base/try.h"
#include "comm/transport/sealed_stream.h"
#include "comm/transport/socket_stream.h"
#include "comm/transport/tcp_peer.h"

namespace paceline {
namespace {

// How long a peer that ends our connections in the greeting is dialed again, and the pause between
// two tries, give or take a half. A flood at its door has passed long before (tcp_door.h).
constexpr Duration kDialTime = std::chrono::seconds(30);
constexpr Duration kRedial = std::chrono::milliseconds(200);

class TcpTransport final : public Transport, private TcpPort::Owner {
 public:
  TcpTransport(std::shared_ptr<TcpPort> port, const Group& group);
  ~TcpTransport() override;
  /// From now on peers may connect.
  Status open();

  const Group& group() const override { return group_; }
  void set_sink(TransportSink* sink) override { sink_ = sink; }
  void send(int to, const Signature& signature, std::span<const std::byte> payload,
            Request& request) override;
  void receive(int from, std::span<std::byte> buffer, Request& request) override;
  void tell(int to, MessageKind kind, ByteView payload) override;
  bool connected(int rank) const override {
    return peers_[static_cast<std::size_t>(rank)]->connected();
  }
  Status loss(int rank) override { return peer(rank).loss(); }
  void abort(const Status& why) override;
  bool flushed() const override;
  bool has_work() const override;
  bool ends_sends_early() const override { return port_->has_integrity(); }
  TransportCounters counters() const override { return counters_; }
  bool drive(TimePoint now) override;
  TimePoint wake_at() const override;

 private:
  Purpose purpose() const { return port_->has_integrity() ? Purpose::kSealedData : Purpose::kData; }
  /// `greeting` has ended well.
  template <class Greeting>
  std::unique_ptr<ByteStream> stream_over(const UniqueFd& fd, const Greeting& greeting) const {
    auto plain = std::make_unique<SocketStream>(fd.get());
    if (!port_->has_integrity()) return plain;
    return std::make_unique<SealedStream>(std::move(plain), greeting.secret());
  }
  TcpPeer& peer(int rank) { return *peers_[static_cast<std::size_t>(rank)]; }
  void reach(int rank);
  bool drive_dial(int rank, TimePoint now);
  void redial_or_end(TcpPeer& there, TimePoint now);
  Status arrived(TcpArrival& arrival) override;

  const std::shared_ptr<TcpPort> port_;  // owners: all groups that it accepts for
  PollEngine& engine_;                   // the port's
  const Group group_;
  TransportSink* sink_ = nullptr;
  std::vector<std::unique_ptr<TcpPeer>> peers_;
  bool is_open_ = false;  // the port knows it
  Random random_{0};      // of pauses
  TransportCounters counters_;
  Status aborted_;
};

TcpTransport::TcpTransport(std::shared_ptr<TcpPort> port, const Group& group)
    : port_(std::move(port)), engine_(*port_->engine()), group_(group) {
  for (int rank = 0; rank < group_.size(); ++rank) {
    Culprit who{.rank = rank, .host = group_.members[static_cast<std::size_t>(rank)].host};
    peers_.push_back(std::make_unique<TcpPeer>(engine_, std::move(who)));
  }
}

Status TcpTransport::open() {
  std::uint64_t seed = 0;
  PACELINE_TRY(fill_system_random(std::as_writable_bytes(std::span(&seed, 1))));
  random_ = Random(seed);
  const Engine::Baton baton = engine_.hold();
  PACELINE_TRY(port_->add(group_, *this));
  is_open_ = true;
  return {};
}

TcpTransport::~TcpTransport() {
  const Engine::Baton baton = engine_.hold();
  abort(Status(Code::kCancelled, Scope::kGroup, "the transport was destroyed"));
  if (is_open_) port_->remove(group_);
  peers_.clear();
}

void TcpTransport::send(int to, const Signature& signature, std::span<const std::byte> payload,
                        Request& request) {
  PACELINE_ASSERT(to != group_.rank);
  if (!aborted_.ok()) return request.end(aborted_);
  if (peer(to).lost()) return request.end(peer(to).loss());
  ++counters_.messages_sent;
  counters_.bytes_sent += payload.size();
  peer(to).outbox.push_data(signature, payload, request);
  reach(to);
}

void TcpTransport::receive(int from, std::span<std::byte> buffer, Request& request) {
  PACELINE_ASSERT(from != group_.rank);
  if (!aborted_.ok()) return request.end(aborted_);
  peer(from).inbox.post(buffer, request);
  if (peer(from).lost()) {
    peer(from).inbox.end_receives(peer(from).loss());
  } else {
    reach(from);
  }
}

void TcpTransport::tell(int to, MessageKind kind, ByteView payload) {
  if (to == group_.rank || peer(to).lost()) return;
  peer(to).outbox.push_control(kind, payload);
  reach(to);
}

// Sends what can be sent at once, or sees to it that there will be a connection.
void TcpTransport::reach(int rank) {
  TcpPeer& there = peer(rank);
  if (there.connected()) {
    there.flush();
  } else if (there.is_undialed()) {
    const Hello hello{.purpose = purpose(),
                      .epoch = group_.epoch,
                      .from = group_.rank,
                      .to = rank,
                      .group = digest(group_.name)};
    there.dial = std::make_unique<TcpDial>(engine_, port_->key(), hello,
                                           group_.members[static_cast<std::size_t>(rank)].address);
  }
}

void TcpTransport::abort(const Status& why) {
  if (!aborted_.ok()) return;
  aborted_ = why;
  for (const auto& peer : peers_) peer->abort(why);
}

bool TcpTransport::flushed() const {
  return std::none_of(peers_.begin(), peers_.end(),
                      [](const auto& peer) { return peer->is_telling(); });
}

bool TcpTransport::has_work() const {
  return std::any_of(peers_.begin(), peers_.end(),
                     [](const auto& peer) { return peer->has_work(); });
}

bool TcpTransport::drive(TimePoint now) {
  bool moved = false;
  for (int rank = 0; rank < group_.size(); ++rank) {
    moved |= drive_dial(rank, now);
    moved |= peer(rank).drive(now);
    moved |= peer(rank).inbox.report(rank, sink_);
  }
  return moved;
}

TimePoint TcpTransport::wake_at() const {
  TimePoint wake = TimePoint::max();
  for (const auto& peer : peers_) wake = std::min(wake, peer->wake_at());
  return wake;
}

bool TcpTransport::drive_dial(int rank, TimePoint now) {
  TcpPeer& there = peer(rank);
  if (there.dial == nullptr && now >= there.redial_at) {
    there.redial_at = TimePoint::max();
    reach(rank);
  }
  if (there.dial == nullptr) return false;
  const GreetingState state = there.dial->drive();
  if (state == GreetingState::kPending) return false;
  if (state == GreetingState::kReady) {
    UniqueFd fd = there.dial->release();
    auto stream = stream_over(fd, *there.dial);
    there.write_to(std::move(fd), std::move(stream));
  } else {
    redial_or_end(there, now);
  }
  return true;
}

// The peer may have had too many strangers at its door.
void TcpTransport::redial_or_end(TcpPeer& there, TimePoint now) {
  if (!there.dial->hung_up()) return there.end_sending(Status(there.dial->error()));
  if (there.dial_until == TimePoint::max()) there.dial_until = now + kDialTime;
  if (now < there.dial_until) {
    constexpr auto kSpread = static_cast<std::uint64_t>(kRedial.count());
    there.dial.reset();
    there.redial_at = now + kRedial / 2 + Duration(random_.below(kSpread));
  } else {
    there.end_sending(Status(Code::kPeerLost, Scope::kGroup,
                             "the rank closed every connection of this rank before authentication; "
                             "check that all ranks have the same job key"));
  }
}

Status TcpTransport::arrived(TcpArrival& arrival) {
  const Hello& hello = arrival.hello();
  const bool is_data = hello.purpose == Purpose::kData || hello.purpose == Purpose::kSealedData;
  const bool ours = is_data && hello.to == group_.rank && hello.from >= 0 &&
                    hello.from < group_.size() && hello.from != group_.rank;
  if (!ours)
    return Status(Code::kDenied, Scope::kPeer,
                  "it has the job's key, but its hello names another rank");
  if (hello.purpose != purpose()) {
    arrival.decline(Verdict::kOtherIntegrity);
    return {};
  }
  TcpPeer& there = peer(hello.from);
  if (there.is_heard() || there.lost()) return {};
  Result<UniqueFd> fd = arrival.welcome();
  if (!fd.ok()) return {};
  auto stream = stream_over(*fd, arrival);
  there.read_from(*std::move(fd), std::move(stream));
  return {};
}

}  // namespace

Result<std::unique_ptr<Transport>> make_tcp_transport(std::shared_ptr<TcpPort> port,
                                                      const Group& group) {
  auto transport = std::make_unique<TcpTransport>(std::move(port), group);
  PACELINE_TRY(transport->open());
  return std::unique_ptr<Transport>(std::move(transport));
}

}  // namespace paceline
