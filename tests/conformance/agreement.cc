// Ranks that call different things: an error that names both sides and what differs, on every rank
// by its next call; never a hang, never a wrong result taken for a right one.

#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "tests/harness/ranks.h"

namespace paceline::testing {
namespace {

// Far above what it takes to find out, so that a timeout is never mistaken for that.
constexpr Duration kTimeout = std::chrono::seconds(20);

using Call = Status (*)(Communicator& world, std::vector<double>& data);

Status reduce_doubles(Communicator& world, std::vector<double>& data) {
  return world.all_reduce(data.data(), data.data(), 100, DataType::kFloat64, ReduceOp::kSum);
}
Status reduce_fewer(Communicator& world, std::vector<double>& data) {
  return world.all_reduce(data.data(), data.data(), 60, DataType::kFloat64, ReduceOp::kSum);
}
Status reduce_integers(Communicator& world, std::vector<double>& data) {
  return world.all_reduce(data.data(), data.data(), 100, DataType::kInt64, ReduceOp::kSum);
}
Status reduce_to_maximum(Communicator& world, std::vector<double>& data) {
  return world.all_reduce(data.data(), data.data(), 100, DataType::kFloat64, ReduceOp::kMax);
}
Status broadcast_from_first(Communicator& world, std::vector<double>& data) {
  return world.broadcast(data.data(), 100, DataType::kFloat64, 0);
}
Status broadcast_from_last(Communicator& world, std::vector<double>& data) {
  return world.broadcast(data.data(), 100, DataType::kFloat64, world.size() - 1);
}
Status reduce_nothing(Communicator& world, std::vector<double>& data) {
  return world.all_reduce(data.data(), data.data(), 0, DataType::kFloat64, ReduceOp::kSum);
}
Status broadcast_nothing(Communicator& world, std::vector<double>& data) {
  return world.broadcast(data.data(), 0, DataType::kFloat64, 0);
}
// Of room for a block of each rank, up to eight.
constexpr std::size_t kBlock = 10;
Status gather_everywhere(Communicator& world, std::vector<double>& data) {
  std::vector<double> all(kBlock * static_cast<std::size_t>(world.size()));
  return world.all_gather(data.data(), all.data(), kBlock, DataType::kFloat64);
}
Status exchange(Communicator& world, std::vector<double>& data) {
  std::vector<double> all(kBlock * static_cast<std::size_t>(world.size()));
  return world.all_to_all(data.data(), all.data(), kBlock, DataType::kFloat64);
}
Status reduce_and_scatter(Communicator& world, std::vector<double>& data) {
  std::vector<double> own(kBlock);
  return world.reduce_scatter(data.data(), own.data(), kBlock, DataType::kFloat64);
}
Status reduce_and_scatter_less(Communicator& world, std::vector<double>& data) {
  std::vector<double> own(kBlock);
  return world.reduce_scatter(data.data(), own.data(), kBlock - 1, DataType::kFloat64);
}
Status scatter_from_first(Communicator& world, std::vector<double>& data) {
  std::vector<double> own(kBlock);
  return world.scatter(data.data(), own.data(), kBlock, DataType::kFloat64, 0);
}
Status gather_on_first(Communicator& world, std::vector<double>& data) {
  std::vector<double> all(kBlock * static_cast<std::size_t>(world.size()));
  return world.gather(data.data(), all.data(), kBlock, DataType::kFloat64, 0);
}
Status gather_on_last(Communicator& world, std::vector<double>& data) {
  std::vector<double> all(kBlock * static_cast<std::size_t>(world.size()));
  return world.gather(data.data(), all.data(), kBlock, DataType::kFloat64, world.size() - 1);
}
Status reduce_on_first(Communicator& world, std::vector<double>& data) {
  std::vector<double> sum(100);
  return world.reduce(data.data(), sum.data(), 100, DataType::kFloat64, ReduceOp::kSum, 0);
}
using Counts = std::vector<std::size_t>;
Counts each(Communicator& world, std::size_t count) {
  return Counts(static_cast<std::size_t>(world.size()), count);
}
Status gather_counted(Communicator& world, const Counts& counts, std::vector<double>& data) {
  std::vector<double> all(2 * kBlock * counts.size());
  return world.all_gather_v(data.data(), all.data(), counts, DataType::kFloat64);
}
Status gather_v(Communicator& world, std::vector<double>& data) {
  return gather_counted(world, each(world, kBlock), data);
}
// As many in all.
Status gather_v_otherwise(Communicator& world, std::vector<double>& data) {
  Counts counts = each(world, kBlock);
  ++counts.front();
  --counts.back();
  return gather_counted(world, counts, data);
}
Status exchange_counted(Communicator& world, const Counts& send_counts, const Counts& recv_counts,
                        std::vector<double>& data) {
  std::vector<double> all(2 * kBlock * send_counts.size());
  return world.all_to_all_v(data.data(), send_counts, all.data(), recv_counts, DataType::kFloat64);
}
Status exchange_v(Communicator& world, std::vector<double>& data) {
  return exchange_counted(world, each(world, kBlock), each(world, kBlock), data);
}
// Sends one less to, and expects nothing from, a neighbour that knows nothing of it.
Status exchange_v_otherwise(Communicator& world, std::vector<double>& data) {
  Counts send_counts = each(world, kBlock), recv_counts = send_counts;
  const auto neighbour = static_cast<std::size_t>((world.rank() + 1) % world.size());
  --send_counts[neighbour];
  recv_counts[neighbour] = 0;
  return exchange_counted(world, send_counts, recv_counts, data);
}
Status enter_barrier(Communicator& world, std::vector<double>&) { return world.barrier(); }
Status skip(Communicator&, std::vector<double>&) { return {}; }

struct Disagreement {
  std::string name;
  Call most;
  Call deviant;
  std::string difference;  // what an error that was seen at first hand says

  friend void PrintTo(const Disagreement& row, std::ostream* out) { *out << row.name; }
};

const Disagreement kDisagreements[] = {
    {"kind", reduce_doubles, enter_barrier, "kind"},
    {"count", reduce_doubles, reduce_fewer, "count"},
    {"type", reduce_doubles, reduce_integers, "type"},
    {"op", reduce_doubles, reduce_to_maximum, "op"},
    {"root", broadcast_from_first, broadcast_from_last, ""},
    {"broadcast_or_barrier", broadcast_from_first, enter_barrier, "kind"},
    {"one_call_fewer", reduce_doubles, skip, ""},
    {"empty_operation", reduce_nothing, broadcast_nothing, "kind"},
    {"exchange_or_gather", exchange, gather_everywhere, "kind"},
    {"scattered_count", reduce_and_scatter, reduce_and_scatter_less, "count"},
    {"scatter_or_all_reduce", scatter_from_first, reduce_doubles, ""},
    {"gathering_root", gather_on_first, gather_on_last, ""},
    {"counts_of_a_gather", gather_v, gather_v_otherwise, "counts"},
    {"counts_of_an_exchange", exchange_v, exchange_v_otherwise, "bytes came where"},
    {"reduce_or_barrier", reduce_on_first, enter_barrier, ""},
};

Status close(Communicator& world) { return world.close(); }
Status next_barrier(Communicator& world) { return world.barrier(); }

// The disagreement, and then the next call, which all agree on.
Status expect_named(Communicator& world, const Disagreement& disagreement, int deviant,
                    Status (*next_call)(Communicator&)) {
  std::vector<double> data(100, 1.0);
  const Call call = world.rank() == deviant ? disagreement.deviant : disagreement.most;
  const Status first = call(world, data);
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
      std::vector<double> data(100, 1.0);
      if (Status first = reduce_doubles(world, data); !first.ok()) return first;
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
                                            ::testing::ValuesIn(kDisagreements)),
                         [](const auto& instance) {
                           return name(std::get<0>(instance.param)) + "_" +
                                  std::get<1>(instance.param).name;
                         });

}  // namespace
}  // namespace paceline::testing
