// A communicator's engine, transport and backend, by hand: a test sets what they say, and sees what
// they were told. One thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "collectives/backend/backend.h"
#include "collectives/communicator_parts.h"
#include "comm/engine.h"
#include "comm/transport.h"

namespace paceline::testing {

class FakeClock final : public Clock {
 public:
  TimePoint now() const override { return now_; }
  void pass(Duration time) { now_ += time; }

 private:
  TimePoint now_ = TimePoint{} + std::chrono::seconds(1000);
};

/// Drives nothing.
class FakeEngine final : public Engine {
 public:
  const FakeClock& clock() const override { return clock_; }
  bool wait(FunctionRef<bool()> condition, Deadline) override { return condition(); }
  void serve() override {}
  void nudge() override {}
  void attach(Driver&) override {}
  void detach(Driver&) override {}
  void begin_background() override { ++in_background; }
  void end_background() override { --in_background; }

  void pass(Duration time) { clock_.pass(time); }

  int in_background = 0;

 protected:
  void acquire() override {}
  void release() override {}

 private:
  FakeClock clock_;
};

/// Sends no data.
class FakeTransport final : public Transport {
 public:
  explicit FakeTransport(Group group) : group_(std::move(group)) {}

  struct Told {
    int peer;
    MessageKind kind;
    bool operator==(const Told&) const = default;
  };

  const Group& group() const override { return group_; }
  void set_sink(TransportSink*) override {}
  void send(int, const Signature&, std::span<const std::byte>, Request&) override {}
  void receive(int, std::span<std::byte>, Request&) override {}
  void tell(int peer, MessageKind kind, ByteView payload) override {
    told.push_back({peer, kind});
    last_payload = Bytes(payload.begin(), payload.end());
  }
  bool connected(int peer) const override { return connections.contains(peer); }
  Status loss(int peer) override { return losses[peer]; }
  void abort(const Status&) override {}
  bool flushed() const override { return is_flushed; }
  bool has_work() const override { return false; }
  TransportCounters counters() const override { return {}; }
  bool drive(TimePoint) override { return false; }

  std::vector<Told> take_told() { return std::exchange(told, {}); }

  std::set<int> connections;
  std::map<int, Status> losses;  // by peer
  bool is_flushed = true;
  std::vector<Told> told;
  Bytes last_payload;

 private:
  const Group group_;
};

/// Serves all collective kinds.
class FakeBackend final : public CollectiveBackend {
 public:
  std::string_view name() const override { return "fake"; }
  std::optional<std::size_t> most_bytes(OperationKind) const override { return SIZE_MAX; }
  std::size_t small_bytes() const override { return 0; }
  Status start(OperationRequest& request) override {
    request.set_plan(0);
    started.push_back(request.signature);
    has_ended = false;
    return on_start;
  }
  bool linger(const Clock&, TimePoint&) override { return ends_at_once; }
  bool drive(TimePoint) override { return false; }
  bool ended() const override { return has_ended; }
  const Status& outcome() const override { return how; }
  void finish() override { ++finished; }
  NextBegin begin_next(OperationRequest& request) override {
    if (on_next == NextBegin::kBegun) begun_early.push_back(request.signature);
    return on_next;
  }
  void forget_next() override { ++forgotten; }
  std::optional<Disagreement> disagreement() const override { return disagreed; }
  std::vector<int> awaited() const override { return waits_for; }

  Status on_start;
  bool ends_at_once = false;
  bool has_ended = false;
  Status how;
  NextBegin on_next = NextBegin::kNotYet;
  std::optional<Disagreement> disagreed;
  std::vector<int> waits_for;
  std::vector<Signature> started, begun_early;
  int finished = 0, forgotten = 0;
};

/// Rank 0 of a few.
struct FakeParts {
  explicit FakeParts(int ranks = 3) {
    Group group{.name = "test", .rank = 0};
    for (int rank = 0; rank < ranks; ++rank) {
      std::string host("node");
      group.members.push_back({.host = host.append(std::to_string(rank))});
    }
    parts.engine = engine;
    auto own_transport = std::make_unique<FakeTransport>(group);
    auto own_backend = std::make_unique<FakeBackend>();
    transport = own_transport.get();
    backend = own_backend.get();
    parts.transport = std::move(own_transport);
    parts.backends.push_back(std::move(own_backend));
    parts.flight = FlightRing::create_private();
    parts.group = std::move(group);
  }

  std::shared_ptr<FakeEngine> engine = std::make_shared<FakeEngine>();
  FakeTransport* transport;
  FakeBackend* backend;
  CommunicatorParts parts;
};

}  // namespace paceline::testing
