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
  MessageKind kind = MessageKind::kData;
  bool farewell = false;  // nothing comes behind it: the sender's end is gone
  Signature signature;
  std::span<const std::byte> payload;  // in the sender's memory (synchronous) or in `owned`
  Bytes owned;
  bool met = false;  // a receive has taken it

  // Moves the payload out of the sender's memory.
  void own() {
    owned.assign(payload.begin(), payload.end());
    payload = owned;
  }
};
using MessagePtr = std::shared_ptr<Message>;  // owners: whoever queues it, and its sender

Status killed() {
  return Status(Code::kCancelled, Scope::kProcess, "the simulation ended this rank");
}

struct Posted {
  std::span<std::byte> buffer;
  Request* request;
};

// What one rank keeps about one peer.
struct Peer {
  std::deque<MessagePtr> arrived;
  std::deque<Posted> posted;
  bool connected = false;  // either has sent to the other, or waited for it
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
        ends(static_cast<std::size_t>(sim.ranks())),
        links(ends.size() * ends.size()) {}

  void transmit(int from, int to, MessagePtr message);
  void deliver(int from, int to, const MessagePtr& message);
  void heal();

  bool is_cut(int a, int b) const { return cut.contains(a) != cut.contains(b); }
  Duration delay() {
    const Duration range = options.max_delay - options.min_delay;
    return options.min_delay +
           Duration(random.below(static_cast<std::uint64_t>(range.count()) + 1));
  }
  // What is known of a rank: its transport while it has one, and what came before that.
  struct End {
    InprocTransport* transport = nullptr;
    bool doomed = false;  // lost before it had a transport
    bool gone = false;
    Duration extra_delay{};                         // of messages from and to it
    std::vector<std::pair<int, MessagePtr>> early;  // by sender
  };
  End& end(int rank) { return ends[static_cast<std::size_t>(rank)]; }
  // What is on its way from one rank to another; it outlives the sender.
  struct Link {
    std::deque<MessagePtr> held;  // by a cut
    TimePoint last_arrival{};     // keeps the pair in order
  };
  Link& link(int from, int to) {
    return links[static_cast<std::size_t>(from) * ends.size() + static_cast<std::size_t>(to)];
  }

  Simulation& simulation;
  const Options options;
  Random random;
  std::vector<End> ends;    // indexed by rank
  std::vector<Link> links;  // see link()
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
  void tell(int peer, MessageKind kind, ByteView payload) override;
  bool connected(int rank) const override {
    const Peer& there = peers_[static_cast<std::size_t>(rank)];
    return there.connected && !there.lost;
  }
  void abort(const Status& why) override;
  Status loss(int rank) override { return peer(rank).lost ? loss_of(rank) : Status(); }
  bool flushed() const override { return true; }
  bool has_work() const override { return false; }
  TransportCounters counters() const override { return counters_; }
  bool drive(TimePoint now) override;

  void arrive(int from, const MessagePtr& message);
  void leave(const Status& why);
  void meet(int rank) { peer(rank).connected = true; }
  void reach_awaited();

 private:
  struct Synchronous {
    int to;
    MessagePtr message;
    Request* request;
  };

  Peer& peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }
  void reach(int to);
  void transmit(int to, MessagePtr message);
  bool match(int from);
  bool end_synchronous();
  Status loss_of(int rank) const;

  const std::shared_ptr<InprocNetwork::State> network_;  // owners: see InprocNetwork
  const Group group_;
  TransportSink* sink_ = nullptr;
  std::vector<Peer> peers_;
  std::vector<Synchronous> synchronous_;
  std::vector<std::pair<int, MessagePtr>> news_;  // by sender, for the sink
  TransportCounters counters_;
  Status aborted_;
  bool left_ = false;
};

InprocTransport::InprocTransport(std::shared_ptr<InprocNetwork::State> network, const Group& group)
    : network_(std::move(network)), group_(group), peers_(group.members.size()) {
  InprocNetwork::State::End& end = network_->end(group_.rank);
  end.transport = this;
  for (int rank = 0; rank < group_.size(); ++rank) {
    InprocTransport* other = network_->end(rank).transport;
    if (other != nullptr && rank != group_.rank) {
      peer(rank).connected = other->connected(group_.rank);
    }
  }
  for (const auto& [from, message] : std::exchange(end.early, {})) arrive(from, message);
  if (end.doomed) leave(killed());
}

InprocTransport::~InprocTransport() {
  leave(Status(Code::kCancelled, Scope::kGroup, "the transport was destroyed"));
  network_->end(group_.rank) = {.gone = true};
}

// As a dial would: whoever is gone is found to be, after a while.
void InprocTransport::reach(int to) {
  Peer& there = peer(to);
  if (network_->is_cut(group_.rank, to) || std::exchange(there.connected, true)) return;
  InprocNetwork::State::End& end = network_->end(to);
  if (!end.gone) {
    if (end.transport != nullptr) end.transport->peer(group_.rank).connected = true;
    return;
  }
  auto farewell = std::make_shared<Message>();
  farewell->farewell = true;
  network_->transmit(to, group_.rank, std::move(farewell));
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
  reach(from);
  peer(from).posted.push_back({buffer, &request});
  match(from);
}

void InprocTransport::tell(int to, MessageKind kind, ByteView payload) {
  if (to == group_.rank || left_) return;  // the dead say nothing
  auto message = std::make_shared<Message>();
  message->kind = kind;
  message->payload = payload;
  message->own();
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

// Ends what is pending here; peers find out behind everything that was sent to them.
void InprocTransport::leave(const Status& why) {
  if (std::exchange(left_, true)) return;
  abort(why);
  for (int rank = 0; rank < group_.size(); ++rank) {
    if (!connected(rank)) continue;
    auto farewell = std::make_shared<Message>();
    farewell->farewell = true;
    transmit(rank, std::move(farewell));
  }
  network_->end(group_.rank).gone = true;
}

void InprocTransport::transmit(int to, MessagePtr message) {
  reach(to);
  network_->transmit(group_.rank, to, std::move(message));
}

void InprocTransport::reach_awaited() {
  for (int rank = 0; rank < group_.size(); ++rank) {
    if (!peer(rank).posted.empty()) reach(rank);
  }
}

void InprocNetwork::State::transmit(int from, int to, MessagePtr message) {
  Link& there = link(from, to);
  if (is_cut(from, to)) {
    there.held.push_back(std::move(message));
    return;
  }
  const TimePoint now = simulation.clock().now();
  Duration longer = end(from).extra_delay + end(to).extra_delay;
  if (message->farewell) longer += options.loss_delay;
  there.last_arrival = std::max(there.last_arrival, now + delay() + longer);
  simulation.schedule(there.last_arrival - now,
                      [network = shared_from_this(), from, to, message = std::move(message)] {
                        network->deliver(from, to, message);
                      });
}

void InprocNetwork::State::heal() {
  cut.clear();
  for (int from = 0; from < simulation.ranks(); ++from) {
    for (int to = 0; to < simulation.ranks(); ++to) {
      std::deque<MessagePtr> held = std::exchange(link(from, to).held, {});
      if (held.empty()) continue;
      for (const int rank : {from, to}) {
        InprocTransport* transport = end(rank).transport;
        if (transport != nullptr) transport->meet(rank == from ? to : from);
      }
      for (MessagePtr& message : held) transmit(from, to, std::move(message));
    }
  }
  for (const End& end : ends) {
    if (end.transport != nullptr) end.transport->reach_awaited();
  }
}

void InprocTransport::arrive(int from, const MessagePtr& message) {
  peer(from).connected = true;
  if (message->farewell) {
    peer(from).lost = true;
  } else {
    const bool is_data = message->kind == MessageKind::kData;
    Peer& sender = peer(from);
    if (is_data) sender.arrived.push_back(message);
    const bool waits = sender.arrived.size() > sender.posted.size();
    if (!is_data || waits) news_.emplace_back(from, message);
  }
  network_->simulation.touch(group_.rank);
}

bool InprocTransport::drive(TimePoint) {
  bool moved = end_synchronous();
  for (int from = 0; from < group_.size(); ++from) moved |= match(from);
  for (const auto& [from, message] : std::exchange(news_, {})) {
    moved = true;
    if (sink_ == nullptr) continue;
    if (message->kind == MessageKind::kData) {
      sink_->waits(from, message->signature);
    } else {
      sink_->told(from, message->kind, message->payload);
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
  State::End& end = state_->end(rank);
  end.doomed = true;
  if (end.transport == nullptr) return;
  end.transport->leave(killed());
  state_->simulation.touch(rank);
}

void InprocNetwork::cut_off(int rank) { state_->cut.insert(rank); }
void InprocNetwork::heal() { state_->heal(); }
void InprocNetwork::delay(int rank, Duration extra) { state_->end(rank).extra_delay = extra; }

}  // namespace paceline
