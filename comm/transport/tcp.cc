#include "comm/transport/tcp.h"

#include <algorithm>
#include <utility>

#include "comm/base/argument_error.h"
#include "comm/base/assert.h"
#include "comm/base/try.h"

namespace paceline {
namespace {

class TcpTransport final : public Transport {
 public:
  TcpTransport(std::shared_ptr<TcpPort> port, const Group& group)
      : port_(std::move(port)), group_(group), id_(group_id(group)) {}
  ~TcpTransport() override;
  /// From now on peers may send.
  Status open(const TcpPlace& place);

  const Group& group() const override { return group_; }
  void set_sink(TransportSink* sink) override { sink_ = sink; }
  void send(int to, const Signature& signature, std::span<const std::byte> payload,
            Request& request) override;
  void receive(int from, std::span<std::byte> buffer, Request& request) override;
  void tell(int to, MessageKind kind, ByteView payload) override;
  bool connected(int rank) const override {
    const Peer* const there = find(rank);
    return there != nullptr && there->link->connected() && there->lane->is_in_use();
  }
  Status loss(int rank) override { return peer(rank).lane->loss(); }
  void abort(const Status& why) override;
  bool flushed() const override;
  bool has_work() const override {
    return std::ranges::any_of(peers_, [](const Peer& peer) { return peer.lane->has_to_send(); });
  }
  bool ends_sends_early() const override { return port_->has_integrity(); }
  TransportCounters counters() const override { return counters_; }
  bool drive(TimePoint now) override;

 private:
  struct Peer {
    int rank;
    TcpLink* link;  // the port's
    std::unique_ptr<Lane> lane;
  };

  const Peer* find(int rank) const {
    const std::size_t at = at_[static_cast<std::size_t>(rank)];
    return at < peers_.size() ? &peers_[at] : nullptr;
  }
  const Peer& peer(int rank) const {
    const Peer* const found = find(rank);
    PACELINE_ASSERT(found != nullptr);
    return *found;
  }

  const std::shared_ptr<TcpPort> port_;  // owners: all groups that use its connections
  const Group group_;
  const std::uint64_t id_;
  TransportSink* sink_ = nullptr;
  std::vector<Peer> peers_;      // those that are reached by TCP
  std::vector<std::size_t> at_;  // by rank: where it stands there
  bool is_claimed_ = false;
  TransportCounters counters_;
  Status aborted_;
};

Status TcpTransport::open(const TcpPlace& place) {
  const Engine::Baton baton = port_->engine()->hold();
  at_.assign(static_cast<std::size_t>(group_.size()), SIZE_MAX);
  is_claimed_ = port_->claim(id_);
  if (!is_claimed_) return argument_error("there is a group " + group_.name + " already");
  for (int rank = 0; rank < group_.size(); ++rank) {
    if (rank == group_.rank || place.of(rank) == TcpPlace::kElsewhere) continue;
    const Member& member = group_.members[static_cast<std::size_t>(rank)];
    TcpLink& link = port_->link(place.of(rank), member.address);
    at_[static_cast<std::size_t>(rank)] = peers_.size();
    peers_.push_back(
        {rank, &link,
         std::make_unique<Lane>(link.groups(), id_, Culprit{.rank = rank, .host = member.host})});
  }
  return {};
}

TcpTransport::~TcpTransport() {
  const Engine::Baton baton = port_->engine()->hold();
  abort(Status(Code::kCancelled, Scope::kGroup, "the transport was destroyed"));
  for (Peer& peer : peers_) {
    peer.lane.reset();
    peer.link->reach();
  }
  if (is_claimed_) port_->release(id_);
}

void TcpTransport::send(int to, const Signature& signature, std::span<const std::byte> payload,
                        Request& request) {
  if (!aborted_.ok()) return request.end(aborted_);
  const Peer& there = peer(to);
  if (there.lane->lost()) return request.end(there.lane->loss());
  ++counters_.messages_sent;
  counters_.bytes_sent += payload.size();
  there.lane->send(signature, payload, request);
  there.link->reach();
}

void TcpTransport::receive(int from, std::span<std::byte> buffer, Request& request) {
  if (!aborted_.ok()) return request.end(aborted_);
  const Peer& there = peer(from);
  there.lane->receive(buffer, request);
  there.link->reach();
}

void TcpTransport::tell(int to, MessageKind kind, ByteView payload) {
  if (to == group_.rank) return;
  peer(to).lane->tell(kind, payload);
  peer(to).link->reach();
}

void TcpTransport::abort(const Status& why) {
  if (!aborted_.ok()) return;
  aborted_ = why;
  for (const Peer& peer : peers_) peer.lane->abort(why);
}

bool TcpTransport::flushed() const {
  return std::ranges::none_of(peers_, [](const Peer& peer) {
    return peer.lane->is_telling(0) && peer.lane->is_telling(peer.link->acknowledged());
  });
}

// The port drives the connections; what this group waits for is looked for without being told.
bool TcpTransport::drive(TimePoint) {
  bool moved = false;
  for (const Peer& peer : peers_) {
    if (peer.lane->expects()) moved |= peer.link->look();
    moved |= peer.lane->report(peer.rank, sink_);
  }
  return moved;
}

}  // namespace

Result<std::unique_ptr<Transport>> make_tcp_transport(std::shared_ptr<TcpPort> port,
                                                      const Group& group, const TcpPlace& place) {
  auto transport = std::make_unique<TcpTransport>(std::move(port), group);
  PACELINE_TRY(transport->open(place));
  return std::unique_ptr<Transport>(std::move(transport));
}

}  // namespace paceline
