// Among up to 1,024 simulated ranks a rank sends O(log n) messages to O(log n) peers, and so has
// O(log n) connections: in a barrier, an all-reduce of 4 bytes, and an all-gather of 256 bytes a
// rank. The last is the operation that split() repeats (collectives/split.cc). The most of any rank
// stands in a table. A rendezvous needs real sockets and is not simulated: each rank asks the store
// for the value of every other rank, so its requests grow with n (comm/rendezvous.cc).
//
//   a_thousand_ranks_have_few_peers [--quick]    --quick: up to 256 ranks
#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <memory>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "comm/base/try.h"
#include "comm/simulation.h"
#include "comm/transport/inproc.h"
#include "tests/harness/tcp_world.h"

namespace paceline::testing {
namespace {

/// The traffic of a rank in one operation.
struct Traffic {
  std::size_t messages = 0;
  std::set<int> peers;  // to which it sends, or from which it receives
};

/// Counts what goes through another transport.
class CountingTransport final : public Transport {
 public:
  CountingTransport(std::unique_ptr<Transport> carrier, Traffic& traffic)
      : carrier_(std::move(carrier)), traffic_(traffic) {}

  const Group& group() const override { return carrier_->group(); }
  void set_sink(TransportSink* sink) override { carrier_->set_sink(sink); }
  void send(int peer, const Signature& signature, std::span<const std::byte> payload,
            Request& request) override {
    ++traffic_.messages;
    traffic_.peers.insert(peer);
    carrier_->send(peer, signature, payload, request);
  }
  void receive(int peer, std::span<std::byte> buffer, Request& request) override {
    traffic_.peers.insert(peer);
    carrier_->receive(peer, buffer, request);
  }
  void tell(int peer, MessageKind kind, ByteView payload) override {
    ++traffic_.messages;
    traffic_.peers.insert(peer);
    carrier_->tell(peer, kind, payload);
  }
  bool connected(int peer) const override { return carrier_->connected(peer); }
  Status loss(int peer) override { return carrier_->loss(peer); }
  void abort(const Status& why) override { carrier_->abort(why); }
  bool flushed() const override { return carrier_->flushed(); }
  bool has_work() const override { return carrier_->has_work(); }
  bool ends_sends_early() const override { return carrier_->ends_sends_early(); }
  TransportCounters counters() const override { return carrier_->counters(); }
  bool drive(TimePoint now) override { return carrier_->drive(now); }
  TimePoint wake_at() const override { return carrier_->wake_at(); }

 private:
  const std::unique_ptr<Transport> carrier_;
  Traffic& traffic_;
};

constexpr std::size_t kSlotBytes = 256;  // what split() gathers of each rank
constexpr std::array kOperations = {"barrier", "all-reduce, 4 B", "all-gather, 256 B a rank"};

Status run(std::size_t operation, Communicator& world) {
  if (operation == 0) return world.barrier();
  if (operation == 1) {
    float one = 1;
    PACELINE_TRY(world.all_reduce(std::span(&one, 1)));
    if (one == static_cast<float>(world.size())) return {};
    return {Code::kInternal, Scope::kOperation, "the sum is wrong"};
  }
  const std::vector<std::byte> own(kSlotBytes);
  std::vector<std::byte> all(kSlotBytes * static_cast<std::size_t>(world.size()));
  return world.all_gather(own.data(), all.data(), kSlotBytes, DataType::kUInt8);
}

struct Most {
  std::size_t messages = 0, peers = 0;
};

// Of any rank, by operation.
Result<std::array<Most, kOperations.size()>> measure(int ranks) {
  Simulation simulation({.ranks = ranks, .seed = 1, .step_limit = 1'000'000'000});
  InprocNetwork network(simulation, {.synchronous = 0});
  std::array<Most, kOperations.size()> most{};
  std::vector<Status> ends(static_cast<std::size_t>(ranks));
  const auto run_rank = [&](int rank, Engine& engine) -> Status {
    Traffic traffic;
    // Not owned: the simulation's engines outlive its run.
    std::shared_ptr<Engine> borrowed(std::shared_ptr<void>(), &engine);
    auto transport =
        std::make_unique<CountingTransport>(network.connect(network.group(rank)), traffic);
    Communicator world = communicator_over(borrowed, std::move(transport), {});
    for (std::size_t operation = 0; operation < kOperations.size(); ++operation) {
      traffic = {};
      PACELINE_TRY(run(operation, world));
      most[operation].messages = std::max(most[operation].messages, traffic.messages);
      most[operation].peers = std::max(most[operation].peers, traffic.peers.size());
    }
    return world.close();
  };
  PACELINE_TRY(simulation.run([&](int rank, Engine& engine) {
    ends[static_cast<std::size_t>(rank)] = run_rank(rank, engine);
  }));
  for (const Status& end : ends) PACELINE_TRY(Status(end));
  return most;
}

// Nothing may need more than twice log2 n, a constant aside.
bool print_row(int ranks, const std::array<Most, kOperations.size()>& most) {
  const auto allowed =
      2 * static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(ranks - 1))) + 2;
  bool good = true;
  for (std::size_t operation = 0; operation < kOperations.size(); ++operation) {
    const auto [messages, peers] = most[operation];
    std::printf("%5d ranks  %-25s %3zu messages, %3zu peers\n", ranks, kOperations[operation],
                messages, peers);
    good = good && messages <= allowed && peers <= allowed;
  }
  std::fflush(stdout);
  return good;
}

}  // namespace
}  // namespace paceline::testing

int main(int argc, char** argv) {
  using namespace paceline::testing;
  const bool quick = argc > 1 && std::string_view(argv[1]) == "--quick";
  bool good = true;
  for (const int ranks : {16, 64, 256, 1024}) {
    if (quick && ranks > 256) break;
    const auto most = measure(ranks);
    if (!most.ok()) {
      std::printf("FAILED: %d ranks: %s\n", ranks, most.status().to_string().c_str());
      return 1;
    }
    good = print_row(ranks, *most) && good;
  }
  std::puts(
      "rendezvous, by the store: n - 1 requests of each rank over 1 connection; not simulated");
  std::puts(good ? "messages and connections of a rank grow with log n"
                 : "FAILED: a rank sends more than 2 log2 n + 2 messages, or has more peers");
  return good ? 0 : 1;
}
