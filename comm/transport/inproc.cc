#include "comm/transport/inproc.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "comm/base/assert.h"
#include "comm/bytes.h"

namespace paceline {
namespace {

struct Message {
  enum class Kind { kData, kNotice, kInquiry, kGoodbye };
  Kind kind = Kind::kData;
  Signature signature;
  std::span<const std::byte> payload;  // in the sender's memory (synchronous) or in `owned`
  Bytes owned;
  bool met = false;  // a receive has taken it
  Status notice;

  // Moves the payload out of the sender's memory.
  void own() {
    owned.assign(payload.begin(), payload.end());
    payload = owned;
  }
};
using MessagePtr = std::shared_ptr<Message>;  // owners: whoever queues it, and its sender

struct Posted {
  std::span<std::byte> buffer;
  Request* request;
};

// What one rank keeps about one peer.
struct Peer {
  std::deque<MessagePtr> arrived;
  std::deque<Posted> posted;
  std::deque<MessagePtr> held;  // sent to the peer while a cut holds it back
  TimePoint last_arrival{};     // of what was sent to the peer: keeps a pair in order
  bool lost = false;
};

}  // namespace

class InprocTransport;

class InprocNetwork::State : public std::enable_shared_from_this<State> {
 public:
  State(Simulation& sim, const Options& settings)
      : simulation(sim),
        options(settings),
        random(sim.random().fork()),
        ends(static_cast<std::size_t>(sim.ranks())) {}

  void deliver(int from, int to, const MessagePtr& message);

  bool is_cut(int a, int b) const { return cut.contains(a) != cut.contains(b); }
  Duration delay() {
    const Duration range = options.max_delay - options.min_delay;
    return options.min_delay +
           Duration(random.below(static_cast<std::uint64_t>(range.count()) + 1));
  }
  // What is known of a rank: its transport while it has one, and what came before that.
  struct End {
    InprocTransport* transport = nullptr;
    bool gone = false;
    std::vector<std::pair<int, MessagePtr>> early;  // by sender
  };
  End& end(int rank) { return ends[static_cast<std::size_t>(rank)]; }

  Simulation& simulation;
  const Options options;
  Random random;
  std::vector<End> ends;  // indexed by rank
  std::set<int> cut;
};

class InprocTransport final : public Transport {
 public:
  InprocTransport(std::shared_ptr<InprocNetwork::State> network, const Group& group);
  ~InprocTransport() override;

  const Group& group() const override { return group_; }
  void set_sink(TransportSink* sink) override { sink_ = sink; }
  void send(int peer, const Signature& signature, std::span<const std::byte> payload,
            Request& request) override;
  void receive(int peer, std::span<std::byte> buffer, Request& request) override;
  void notify(int peer, const Status& error) override;
  void inquire(int peer, const Signature& signature) override;
  bool connected(int peer) const override { return !peers_[static_cast<std::size_t>(peer)].lost; }
  void abort(const Status& why) override;
  bool flushed() const override { return true; }
  TransportCounters counters() const override { return counters_; }
  bool drive(TimePoint now) override;

  void arrive(int from, const MessagePtr& message);
  void leave(const Status& why);
  void release_held();

 private:
  struct Synchronous {
    int to;
    MessagePtr message;
    Request* request;
  };

  Peer& peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }
  void transmit(int to, MessagePtr message);
  bool match(int from);
  bool end_synchronous();
  Status loss_of(int rank) const;

  const std::shared_ptr<InprocNetwork::State> network_;  // owners: see InprocNetwork
  const Group group_;
  TransportSink* sink_ = nullptr;
  std::vector<Peer> peers_;
  std::vector<Synchronous> synchronous_;
  std::vector<std::pair<int, MessagePtr>> for_sink_;
  TransportCounters counters_;
  Status aborted_;
  bool left_ = false;
};

InprocTransport::InprocTransport(std::shared_ptr<InprocNetwork::State> network, const Group& group)
    : network_(std::move(network)), group_(group), peers_(group.members.size()) {
  InprocNetwork::State::End& end = network_->end(group_.rank);
  end.transport = this;
  for (const auto& [from, message] : std::exchange(end.early, {})) arrive(from, message);
}

InprocTransport::~InprocTransport() {
  leave(Status(Code::kCancelled, Scope::kGroup, "the transport was destroyed"));
  network_->end(group_.rank) = {.gone = true};
}

void InprocNetwork::State::deliver(int from, int to, const MessagePtr& message) {
  End& there = end(to);
  if (there.transport != nullptr) {
    there.transport->arrive(from, message);
  } else if (!there.gone) {
    there.early.emplace_back(from, message);
  }
}

void InprocTransport::send(int to, const Signature& signature, std::span<const std::byte> payload,
                           Request& request) {
  if (!aborted_.ok()) return request.end(aborted_);
  if (peer(to).lost) return request.end(loss_of(to));
  ++counters_.messages_sent;
  counters_.bytes_sent += payload.size();
  auto message = std::make_shared<Message>();
  message->signature = signature;
  message->payload = payload;
  const bool synchronous = network_->random.chance(network_->options.synchronous);
  if (!synchronous) message->own();
  transmit(to, message);
  if (synchronous) {
    synchronous_.push_back({to, std::move(message), &request});
  } else {
    request.end({});
  }
}

void InprocTransport::receive(int from, std::span<std::byte> buffer, Request& request) {
  if (!aborted_.ok()) return request.end(aborted_);
  peer(from).posted.push_back({buffer, &request});
  match(from);
}

void InprocTransport::notify(int to, const Status& error) {
  auto message = std::make_shared<Message>();
  message->kind = Message::Kind::kNotice;
  message->notice = error;
  transmit(to, std::move(message));
}

void InprocTransport::inquire(int to, const Signature& signature) {
  auto message = std::make_shared<Message>();
  message->kind = Message::Kind::kInquiry;
  message->signature = signature;
  transmit(to, std::move(message));
}

void InprocTransport::abort(const Status& why) {
  if (!aborted_.ok()) return;
  aborted_ = why;
  for (Peer& peer : peers_) {
    for (const Posted& posted : std::exchange(peer.posted, {})) posted.request->end(why);
  }
  for (Synchronous& sent : std::exchange(synchronous_, {})) {
    if (!sent.message->met) sent.message->own();
    sent.request->end(why);
  }
}

// Says goodbye behind everything that was sent, and ends what is pending here.
void InprocTransport::leave(const Status& why) {
  if (std::exchange(left_, true)) return;
  abort(why);
  for (int rank = 0; rank < group_.size(); ++rank) {
    if (rank == group_.rank) continue;
    auto goodbye = std::make_shared<Message>();
    goodbye->kind = Message::Kind::kGoodbye;
    transmit(rank, std::move(goodbye));
  }
}

void InprocTransport::transmit(int to, MessagePtr message) {
  if (network_->is_cut(group_.rank, to)) {
    peer(to).held.push_back(std::move(message));
    return;
  }
  const TimePoint now = network_->simulation.clock().now();
  Duration delay = network_->delay();
  if (message->kind == Message::Kind::kGoodbye) delay += network_->options.loss_delay;
  TimePoint& arrival = peer(to).last_arrival;
  arrival = std::max(arrival, now + delay);
  network_->simulation.schedule(
      arrival - now, [network = network_, from = group_.rank, to, message = std::move(message)] {
        network->deliver(from, to, message);
      });
}

void InprocTransport::release_held() {
  for (int to = 0; to < group_.size(); ++to) {
    for (MessagePtr& message : std::exchange(peer(to).held, {})) transmit(to, std::move(message));
  }
}

void InprocTransport::arrive(int from, const MessagePtr& message) {
  switch (message->kind) {
    case Message::Kind::kData:
      peer(from).arrived.push_back(message);
      break;
    case Message::Kind::kNotice:
    case Message::Kind::kInquiry:
      for_sink_.emplace_back(from, message);
      break;
    case Message::Kind::kGoodbye:
      peer(from).lost = true;
      break;
  }
  network_->simulation.touch(group_.rank);
}

bool InprocTransport::drive(TimePoint) {
  bool moved = end_synchronous();
  for (int from = 0; from < group_.size(); ++from) moved |= match(from);
  for (const auto& [from, message] : std::exchange(for_sink_, {})) {
    moved = true;
    if (sink_ == nullptr) continue;
    if (message->kind == Message::Kind::kNotice) {
      sink_->noticed(from, message->notice);
    } else {
      sink_->inquired(from, message->signature);
    }
  }
  return moved;
}

bool InprocTransport::match(int from) {
  Peer& sender = peer(from);
  bool moved = false;
  while (!sender.posted.empty() && !sender.arrived.empty()) {
    const Posted posted = sender.posted.front();
    const MessagePtr message = std::move(sender.arrived.front());
    sender.posted.pop_front();
    sender.arrived.pop_front();
    moved = true;
    Status status;
    if (message->payload.size() == posted.buffer.size()) {
      std::copy(message->payload.begin(), message->payload.end(), posted.buffer.begin());
    } else {
      status = length_mismatch(posted.buffer.size(), message->payload.size());
    }
    message->met = true;
    network_->simulation.touch(from);
    posted.request->signature = message->signature;
    posted.request->end(std::move(status));
  }
  if (!sender.lost || sender.posted.empty()) return moved;
  for (const Posted& posted : std::exchange(sender.posted, {})) posted.request->end(loss_of(from));
  return true;
}

// Ends sends that a receive has met, or that none will meet any more.
bool InprocTransport::end_synchronous() {
  const auto pending = [this](const Synchronous& sent) {
    return !sent.message->met && !peer(sent.to).lost;
  };
  const auto first = std::stable_partition(synchronous_.begin(), synchronous_.end(), pending);
  const std::vector<Synchronous> over(first, synchronous_.end());
  synchronous_.erase(first, synchronous_.end());
  for (const Synchronous& sent : over) {
    sent.request->end(sent.message->met ? Status() : loss_of(sent.to));
  }
  return !over.empty();
}

Status InprocTransport::loss_of(int rank) const {
  const std::string& host = group_.members[static_cast<std::size_t>(rank)].host;
  return Status(Code::kPeerLost, Scope::kGroup, "the rank is gone", {.rank = rank, .host = host});
}

InprocNetwork::InprocNetwork(Simulation& simulation, const Options& options)
    : state_(std::make_shared<State>(simulation, options)) {}
InprocNetwork::~InprocNetwork() = default;

std::unique_ptr<Transport> InprocNetwork::connect(const Group& group) {
  PACELINE_ASSERT(group.size() == state_->simulation.ranks());
  return std::make_unique<InprocTransport>(state_, group);
}

Group InprocNetwork::group(int rank) const {
  Group group{.name = "simulated", .rank = rank};
  for (int member = 0; member < state_->simulation.ranks(); ++member) {
    group.members.push_back({.host = "sim" + std::to_string(member)});
  }
  return group;
}

void InprocNetwork::lose(int rank) {
  InprocTransport* transport = state_->end(rank).transport;
  if (transport == nullptr) return;
  transport->leave(Status(Code::kCancelled, Scope::kProcess, "the simulation ended this rank"));
  state_->simulation.touch(rank);
}

void InprocNetwork::cut_off(int rank) { state_->cut.insert(rank); }

void InprocNetwork::heal() {
  state_->cut.clear();
  for (const State::End& end : state_->ends) {
    if (end.transport != nullptr) end.transport->release_held();
  }
}

}  // namespace paceline
