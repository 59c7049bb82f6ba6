#include "comm/transport/tcp.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "comm/base/assert.h"
#include "comm/base/digest.h"
#include "comm/base/random.h"
#include "comm/base/try.h"
#include "comm/transport/tcp_greeting.h"
#include "comm/transport/tcp_peer.h"

namespace paceline {
namespace {

constexpr std::size_t kMaxStrangers = 64;
constexpr Duration kGreetingTime = std::chrono::seconds(10);
constexpr Duration kRedial = std::chrono::milliseconds(200);

class TcpTransport final : public Transport, private FdHandler {
 public:
  TcpTransport(std::shared_ptr<PollEngine> engine, const Group& group, UniqueFd listener,
               JobKey key);
  ~TcpTransport() override;
  Status start();

  const Group& group() const override { return group_; }
  void set_sink(TransportSink* sink) override { sink_ = sink; }
  void send(int to, const Signature& signature, std::span<const std::byte> payload,
            Request& request) override;
  void receive(int from, std::span<std::byte> buffer, Request& request) override;
  void notify(int to, const Status& error) override;
  void inquire(int to, const Signature& signature) override;
  bool connected(int rank) const override {
    return peers_[static_cast<std::size_t>(rank)]->connected();
  }
  void abort(const Status& why) override;
  bool flushed() const override;
  TransportCounters counters() const override { return counters_; }
  bool drive(TimePoint now) override;
  TimePoint wake_at() const override;

 private:
  TcpPeer& peer(int rank) { return *peers_[static_cast<std::size_t>(rank)]; }
  bool on_ready(std::uint32_t) override { return accept_pending_ = true; }
  void reach(int rank);
  bool drive_dial(int rank, TimePoint now);
  bool accept_arrivals(TimePoint now);
  bool drive_arrivals(TimePoint now);
  void settle(TcpArrival& arrival);
  bool deliver_unasked(int rank);

  const std::shared_ptr<PollEngine> engine_;  // owners: see Work
  const Group group_;
  const UniqueFd listener_;
  const JobKey key_;
  TransportSink* sink_ = nullptr;
  std::vector<std::unique_ptr<TcpPeer>> peers_;
  std::vector<std::unique_ptr<TcpArrival>> arrivals_;
  bool accept_pending_ = true;
  TransportCounters counters_;
  Status aborted_;
};

TcpTransport::TcpTransport(std::shared_ptr<PollEngine> engine, const Group& group,
                           UniqueFd listener, JobKey key)
    : engine_(std::move(engine)),
      group_(group),
      listener_(std::move(listener)),
      key_(std::move(key)) {
  for (int rank = 0; rank < group_.size(); ++rank) {
    Culprit who{.rank = rank, .host = group_.members[static_cast<std::size_t>(rank)].host};
    peers_.push_back(std::make_unique<TcpPeer>(*engine_, std::move(who)));
  }
}

Status TcpTransport::start() {
  const Engine::Baton baton = engine_->hold();
  return engine_->watch(listener_.get(), *this);
}

TcpTransport::~TcpTransport() {
  const Engine::Baton baton = engine_->hold();
  abort(Status(Code::kCancelled, Scope::kGroup, "the transport was destroyed"));
  engine_->forget(listener_.get(), *this);
  arrivals_.clear();
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

void TcpTransport::notify(int to, const Status& error) {
  if (to == group_.rank || peer(to).lost()) return;
  peer(to).outbox.push_notice(error);
  reach(to);
}

void TcpTransport::inquire(int to, const Signature& signature) {
  if (to == group_.rank || peer(to).lost()) return;
  peer(to).outbox.push_inquiry(signature);
  reach(to);
}

// Sends what can be sent at once, or sees to it that there will be a connection.
void TcpTransport::reach(int rank) {
  TcpPeer& there = peer(rank);
  if (there.connected()) {
    there.flush();
  } else if (there.dial == nullptr && there.redial_at == TimePoint::max()) {
    const Hello hello{.purpose = Purpose::kData,
                      .epoch = group_.epoch,
                      .from = group_.rank,
                      .to = rank,
                      .group = digest(group_.name)};
    --there.dials_left;
    there.dial = std::make_unique<TcpDial>(*engine_, key_, hello,
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
                      [](const auto& peer) { return !peer->lost() && peer->outbox.has_notice(); });
}

bool TcpTransport::drive(TimePoint now) {
  bool moved = accept_arrivals(now);
  moved |= drive_arrivals(now);
  for (int rank = 0; rank < group_.size(); ++rank) {
    moved |= drive_dial(rank, now);
    moved |= peer(rank).drive();
    moved |= deliver_unasked(rank);
  }
  return moved;
}

TimePoint TcpTransport::wake_at() const {
  TimePoint wake = TimePoint::max();
  for (const auto& arrival : arrivals_) wake = std::min(wake, arrival->give_up_at());
  for (const auto& peer : peers_) wake = std::min(wake, peer->redial_at);
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
    there.adopt(there.dial->release());
    return true;
  }
  // The peer may be dialing us, or have had too many strangers at its door: there is another try
  // unless an arrival comes first.
  const bool worth_it = state == GreetingState::kSuperseded || there.dial->hung_up();
  if (worth_it && there.dials_left > 0) {
    there.dial.reset();
    there.redial_at = now + kRedial;
  } else if (state == GreetingState::kSuperseded) {
    there.lose(Status(Code::kPeerLost, Scope::kGroup,
                      "the rank refuses our connections and makes none of its own"));
  } else {
    there.lose(Status(there.dial->error()));
  }
  return true;
}

bool TcpTransport::accept_arrivals(TimePoint now) {
  bool moved = false;
  while (accept_pending_ && arrivals_.size() < kMaxStrangers) {
    Result<UniqueFd> fd = accept_from(listener_.get());
    AcceptorHandshake::Nonce nonce;
    if (!fd.ok() || !*fd || !fill_system_random(nonce).ok()) {
      accept_pending_ = false;
      break;
    }
    arrivals_.push_back(
        std::make_unique<TcpArrival>(*engine_, key_, nonce, *std::move(fd), now + kGreetingTime));
    moved = true;
  }
  return moved;
}

bool TcpTransport::drive_arrivals(TimePoint now) {
  const auto settled = [&](const std::unique_ptr<TcpArrival>& arrival) {
    const GreetingState state = arrival->drive(now);
    if (state == GreetingState::kReady) settle(*arrival);
    return state != GreetingState::kPending;
  };
  return std::erase_if(arrivals_, settled) > 0;
}

// Decides what becomes of a connection whose other end has proven the key.
void TcpTransport::settle(TcpArrival& arrival) {
  const Hello& hello = arrival.hello();
  const bool ours = hello.purpose == Purpose::kData && hello.epoch == group_.epoch &&
                    hello.group == digest(group_.name) && hello.to == group_.rank &&
                    hello.from >= 0 && hello.from < group_.size() && hello.from != group_.rank;
  if (!ours) return;  // another epoch or group: it finds its connection closed
  TcpPeer& there = peer(hello.from);
  if (there.connected() || there.lost()) return;
  if (there.dial != nullptr && group_.rank < hello.from) {
    (void)arrival.answer(Verdict::kSuperseded);
    return;
  }
  Result<UniqueFd> fd = arrival.answer(Verdict::kAccepted);
  if (fd.ok()) there.adopt(*std::move(fd));
}

bool TcpTransport::deliver_unasked(int rank) {
  const auto unasked = peer(rank).inbox.take_unasked();
  for (const TcpInbox::Unasked& message : unasked) {
    if (sink_ == nullptr) continue;
    if (message.notice.ok()) {
      sink_->inquired(rank, message.signature);
    } else {
      sink_->noticed(rank, message.notice);
    }
  }
  return !unasked.empty();
}

}  // namespace

Result<TcpListener> TcpListener::open(const std::string& host_address) {
  const bool is_ipv6 = host_address.find(':') != std::string::npos;
  PACELINE_TRY_ASSIGN(
      const SocketAddress wanted,
      SocketAddress::parse(is_ipv6 ? "[" + host_address + "]:0" : host_address + ":0"));
  PACELINE_TRY_ASSIGN(UniqueFd fd, listen_on(wanted));
  PACELINE_TRY_ASSIGN(const SocketAddress bound, SocketAddress::of_local_end(fd.get()));
  return TcpListener(std::move(fd), bound.to_string());
}

Result<std::unique_ptr<Transport>> make_tcp_transport(std::shared_ptr<PollEngine> engine,
                                                      const Group& group, TcpListener listener,
                                                      JobKey key) {
  auto transport =
      std::make_unique<TcpTransport>(std::move(engine), group, listener.release(), std::move(key));
  PACELINE_TRY(transport->start());
  return std::unique_ptr<Transport>(std::move(transport));
}

}  // namespace paceline
