// Ranks that call different things: an error that names both sides and what differs, on every rank
// by its next call; never a hang, never a wrong result taken for a right one.

#include <functional>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "tests/harness/calls.h"
#include "tests/harness/ranks.h"

namespace paceline::testing {
namespace {

// Far above what it takes to find out, so that a timeout is never mistaken for that.
constexpr Duration kTimeout = std::chrono::seconds(20);

using Act = std::function<Status(Communicator& world)>;

constexpr int kLast = -1;  // as a root: the last rank

Act make(Call call) {
  return [call](Communicator& world) {
    Call here = call;
    if (call.root == kLast) here.root = world.size() - 1;
    return MadeCall(here, 0, world.rank(), world.size()).run(world);
  };
}

Call call_of(OperationKind kind, std::size_t count, int root = 0) {
  return {.kind = kind, .count = count, .type = DataType::kFloat64, .root = root};
}
Act sum() { return make(call_of(OperationKind::kAllReduce, 100)); }
Status skip(Communicator&) { return {}; }

// Blocks with counts that are chosen here.
constexpr std::size_t kBlock = 10;
using Counts = std::vector<std::size_t>;
Counts each(Communicator& world) { return Counts(static_cast<std::size_t>(world.size()), kBlock); }
Status gather(Communicator& world, const Counts& counts) {
  std::vector<double> own(2 * kBlock), all(2 * kBlock * counts.size());
  return world.all_gather_v(own.data(), all.data(), counts, DataType::kFloat64);
}
Status gather_blocks(Communicator& world) { return gather(world, each(world)); }
// As many in all.
Status gather_other_blocks(Communicator& world) {
  Counts counts = each(world);
  ++counts.front();
  --counts.back();
  return gather(world, counts);
}
Status exchange(Communicator& world, const Counts& send_counts, const Counts& recv_counts) {
  std::vector<double> sent(kBlock * send_counts.size()), received(sent.size());
  return world.all_to_all_v(sent.data(), send_counts, received.data(), recv_counts,
                            DataType::kFloat64);
}
Status exchange_blocks(Communicator& world) { return exchange(world, each(world), each(world)); }
// Sends one less to, and expects nothing from, a neighbour that knows nothing of it.
Status exchange_other_blocks(Communicator& world) {
  Counts send_counts = each(world), recv_counts = send_counts;
  const auto neighbour = static_cast<std::size_t>((world.rank() + 1) % world.size());
  --send_counts[neighbour];
  recv_counts[neighbour] = 0;
  return exchange(world, send_counts, recv_counts);
}

struct Disagreement {
  std::string name;
  Act most;
  Act deviant;
  std::string difference;  // what an error that was seen at first hand says

  friend void PrintTo(const Disagreement& row, std::ostream* out) { *out << row.name; }
};

std::vector<Disagreement> disagreements() {
  using enum OperationKind;
  const auto call = [](OperationKind kind, std::size_t count, int root = 0) {
    return make(call_of(kind, count, root));
  };
  const Act reduction = sum(), barrier = make({.kind = kBarrier});
  Call integers = call_of(kAllReduce, 100), maximum = integers;
  integers.type = DataType::kInt64;
  maximum.op = ReduceOp::kMax;
  return {
      {"kind", reduction, barrier, "kind"},
      {"count", reduction, call(kAllReduce, 60), "count"},
      {"type", reduction, make(integers), "type"},
      {"op", reduction, make(maximum), "op"},
      {"root", call(kBroadcast, 100), call(kBroadcast, 100, kLast), ""},
      {"broadcast_or_barrier", call(kBroadcast, 100), barrier, "kind"},
      {"one_call_fewer", reduction, skip, ""},
      {"empty_operation", call(kAllReduce, 0), call(kBroadcast, 0), "kind"},
      {"exchange_or_gather", call(kAllToAll, kBlock), call(kAllGather, kBlock), "kind"},
      {"scattered_count", call(kReduceScatter, kBlock), call(kReduceScatter, kBlock - 1), "count"},
      {"scatter_or_all_reduce", call(kScatter, kBlock), reduction, ""},
      {"gathering_root", call(kGather, kBlock), call(kGather, kBlock, kLast), ""},
      {"counts_of_a_gather", gather_blocks, gather_other_blocks, "counts"},
      {"counts_of_an_exchange", exchange_blocks, exchange_other_blocks, " bytes, expected "},
      {"reduce_or_barrier", call(kReduce, 100), barrier, ""},
  };
}

Status close(Communicator& world) { return world.close(); }
Status next_barrier(Communicator& world) { return world.barrier(); }

// The disagreement, and then the next call, which all agree on.
Status expect_named(Communicator& world, const Disagreement& disagreement, int deviant,
                    Status (*next_call)(Communicator&)) {
  const Act& act = world.rank() == deviant ? disagreement.deviant : disagreement.most;
  const Status first = act(world);
  const Status next = next_call(world);
  const Status& seen = first.ok() ? next : first;
  if (seen.code() != Code::kMismatch) {
    return Status(Code::kInternal, Scope::kOperation,
                  "first: " + first.to_string() + "; next: " + next.to_string());
  }
  if (next.to_string() != seen.to_string()) {
    return Status(Code::kInternal, Scope::kOperation, "the error is not sticky");
  }
  const bool both_sides = seen.text().find("called") != seen.text().rfind("called");
  if (!both_sides || seen.text().find(disagreement.difference) == std::string::npos) {
    return Status(Code::kInternal, Scope::kOperation, "it does not tell enough: " + seen.text());
  }
  return {};
}

class Agreement : public ::testing::TestWithParam<std::tuple<Mode, Disagreement>> {};

TEST_P(Agreement, IsMissedByNobody) {
  const auto& [mode, disagreement] = GetParam();
  for (const int ranks : {2, 3, 5, 8}) {
    for (const int deviant : {0, ranks - 1}) {
      for (const std::uint64_t seed : seeds(mode == Mode::kSimulation ? 20 : 1)) {
        for (const auto next_call : {next_barrier, close}) {
          const Status status =
              run_ranks({.mode = mode, .ranks = ranks, .seed = seed, .timeout = kTimeout},
                        [&](Communicator& world) {
                          return expect_named(world, std::get<1>(GetParam()), deviant, next_call);
                        });
          ASSERT_TRUE(status.ok())
              << ranks << " ranks, " << deviant << " deviates: " << status.to_string();
        }
      }
    }
  }
}

TEST(Closing, SucceedsWhereAllAgreedAndEndsTheCalls) {
  for (const Mode mode : {Mode::kSimulation, Mode::kThreads, Mode::kSharedMemoryThreads,
                          Mode::kDirectThreads, Mode::kGatheringThreads}) {
    const Status status = run_ranks({.mode = mode, .ranks = 5}, [](Communicator& world) -> Status {
      if (Status first = sum()(world); !first.ok()) return first;
      if (Status closed = world.close(); !closed.ok()) return closed;
      const Status late = world.barrier();
      if (late.code() != Code::kInvalidArgument) return late.with_context("after close()");
      return world.close();
    });
    EXPECT_TRUE(status.ok()) << name(mode) << ": " << status.to_string();
  }
}

INSTANTIATE_TEST_SUITE_P(Disagreements, Agreement,
                         ::testing::Combine(::testing::Values(Mode::kSimulation, Mode::kThreads,
                                                              Mode::kSharedMemoryThreads,
                                                              Mode::kDirectThreads,
                                                              Mode::kGatheringThreads),
                                            ::testing::ValuesIn(disagreements())),
                         [](const auto& instance) {
                           return name(std::get<0>(instance.param)) + "_" +
                                  std::get<1>(instance.param).name;
                         });

}  // namespace
}  // namespace paceline::testing
