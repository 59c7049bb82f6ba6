// The conformance suite of the collectives: one body, run as simulation, threads and processes,
// over every algorithm of the table. Every result is exact (tests/harness/elements.h).

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "collectives/algorithms.h"
#include "tests/harness/elements.h"
#include "tests/harness/ranks.h"

namespace paceline::testing {
namespace {

constexpr std::size_t kSegmentBytes = 1024;
// Nothing, one, fewer than ranks, prime, not divisible by any number of ranks, several segments.
constexpr std::size_t kCounts[] = {0, 1, 7, 101, 1009, 5 * 1024 + 3};

Status wrong(const std::string& operation, std::size_t index) {
  return Status(Code::kInternal, Scope::kOperation,
                operation + ": element " + std::to_string(index) + " is wrong");
}

struct Form {
  DataType type;
  ReduceOp op;
  bool in_place;
  bool asynchronous;
};

Status check_all_reduce(Communicator& world, std::size_t count, const Form& form) {
  const CallForm call{.type = form.type, .op = form.op, .number = count};
  const Elements input = inputs_of(call, world.rank(), count);
  Elements output = input;
  if (!form.in_place) output.fill([](std::size_t) { return 123; });
  const void* in = form.in_place ? output.data() : input.data();
  const Status status =
      form.asynchronous
          ? world.all_reduce_async(in, output.data(), count, form.type, form.op).wait()
          : world.all_reduce(in, output.data(), count, form.type, form.op);
  if (!status.ok()) return status;
  if (const auto other = output.first_other(reduced(call, world.size(), count)))
    return wrong(
        "all_reduce of " + std::string(name(form.type)) + ", " + std::string(name(form.op)),
        *other);
  return {};
}

Status check_broadcast(Communicator& world, DataType type, std::size_t count, int root) {
  const CallForm call{.type = type, .number = count};
  Elements buffer = inputs_of(call, world.rank(), count);
  if (Status status = world.broadcast(buffer.data(), count, type, root); !status.ok())
    return status;
  if (const auto other = buffer.first_other(inputs_of(call, root, std::min(count, kPeriod))))
    return wrong("broadcast of " + std::string(name(type)), *other);
  return {};
}

// A rank that leaves the barrier has seen every other enter it.
Status check_barrier_holds(Communicator& world) {
  for (int round = 0; round < 20; ++round) {
    std::vector<std::int64_t> entered(static_cast<std::size_t>(world.size()), 0);
    entered[static_cast<std::size_t>(world.rank())] = round + 1;
    if (Status status = world.barrier(); !status.ok()) return status;
    if (Status status = world.all_reduce(std::span(entered), ReduceOp::kMax); !status.ok()) {
      return status;
    }
    for (const std::int64_t of : entered) {
      if (of != round + 1) return wrong("barrier", static_cast<std::size_t>(round));
    }
  }
  return {};
}

// Not every combination: each type meets every op and every count, and every op every count, in
// place and not.
Status check_all_reduces(Communicator& world, DataType type) {
  std::size_t turn = static_cast<std::size_t>(type);
  for (std::size_t i = 0; i < std::size(kCounts); ++i) {
    for (const bool in_place : {i % 2 == 0, i % 2 != 0}) {
      const ReduceOp op = kReduceOps[turn++ % std::size(kReduceOps)];
      const Form form{
          .type = type, .op = op, .in_place = in_place, .asynchronous = op == ReduceOp::kMin};
      if (Status status = check_all_reduce(world, kCounts[i], form); !status.ok()) return status;
    }
  }
  return {};
}

Status check_broadcasts(Communicator& world, DataType type) {
  for (const std::size_t count : kCounts) {
    for (const int root : {0, world.size() / 2, world.size() - 1}) {
      if (Status status = check_broadcast(world, type, count, root); !status.ok()) return status;
    }
  }
  return {};
}

Status check_type(Communicator& world, OperationKind kind, DataType type) {
  switch (kind) {
    case OperationKind::kAllReduce:
      return check_all_reduces(world, type);
    case OperationKind::kBroadcast:
      return check_broadcasts(world, type);
    case OperationKind::kBarrier:
    case OperationKind::kClose:
      return check_barrier_holds(world);
  }
  return {};
}

Status check_every_type(Communicator& world, OperationKind kind) {
  for (const DataType type : kDataTypes) {
    if (Status status = check_type(world, kind, type); !status.ok()) return status;
    if (!has_elements(kind)) break;
  }
  return {};
}

// Many outstanding at once end in the order of the calls, each with its own result.
Status check_outstanding(Communicator& world) {
  constexpr int kOutstanding = 50;
  std::vector<std::vector<float>> buffers(kOutstanding);
  std::vector<Work> works;
  for (int i = 0; i < kOutstanding; ++i) {
    buffers[static_cast<std::size_t>(i)].assign(100 + static_cast<std::size_t>(i),
                                                static_cast<float>(i));
    works.push_back(world.all_reduce_async(std::span(buffers[static_cast<std::size_t>(i)])));
  }
  for (int i = kOutstanding - 1; i >= 0; --i) {
    if (Status status = works[static_cast<std::size_t>(i)].wait(); !status.ok()) return status;
    if (!works[0].test()) return wrong("order of operations", static_cast<std::size_t>(i));
    for (const float element : buffers[static_cast<std::size_t>(i)]) {
      if (element != static_cast<float>(i * world.size())) {
        return wrong("outstanding", static_cast<std::size_t>(i));
      }
    }
  }
  return {};
}

class Conformance : public ::testing::TestWithParam<std::tuple<Mode, int>> {
 protected:
  static RunOptions options() {
    return {.mode = std::get<0>(GetParam()),
            .ranks = std::get<1>(GetParam()),
            .segment_bytes = kSegmentBytes};
  }
  void run(const std::function<Status(Communicator&)>& body, RunOptions with) {
    // One schedule is one sample of a simulation; the others choose theirs by themselves.
    const int schedules = with.mode == Mode::kSimulation ? 2 : 1;
    for (const std::uint64_t seed : seeds(schedules)) {
      with.seed = seed;
      const Status status = run_ranks(with, body);
      ASSERT_TRUE(status.ok()) << status.to_string();
    }
  }
};

TEST_P(Conformance, EveryAlgorithmIsExact) {
  for (const Algorithm& algorithm : algorithms()) {
    SCOPED_TRACE(algorithm.name);
    RunOptions with = options();
    with.algorithm = algorithm.name;
    run([&](Communicator& world) { return check_every_type(world, algorithm.kind); }, with);
  }
}

TEST_P(Conformance, TheSelectedAlgorithmsFollowEachOther) {
  const auto one_after_the_other = [](Communicator& world) -> Status {
    for (const OperationKind kind :
         {OperationKind::kBarrier, OperationKind::kBroadcast, OperationKind::kAllReduce}) {
      if (Status status = check_type(world, kind, DataType::kFloat32); !status.ok()) return status;
    }
    return {};
  };
  run(one_after_the_other, options());
}

TEST_P(Conformance, ManyOperationsMayBeOutstanding) { run(check_outstanding, options()); }

// The direct backend has no table of algorithms; what it does depends on the length alone.
class Direct : public Conformance {};

TEST_P(Direct, EveryOperationIsExact) {
  const auto every_operation = [](Communicator& world) -> Status {
    for (const OperationKind kind :
         {OperationKind::kBarrier, OperationKind::kBroadcast, OperationKind::kAllReduce}) {
      if (Status status = check_every_type(world, kind); !status.ok()) return status;
    }
    if (Status status = check_outstanding(world); !status.ok()) return status;
    return world.close();
  };
  run(every_operation, options());
}

INSTANTIATE_TEST_SUITE_P(Modes, Direct,
                         ::testing::Combine(::testing::Values(Mode::kDirect, Mode::kDirectThreads,
                                                              Mode::kGathering,
                                                              Mode::kGatheringThreads),
                                            ::testing::Values(2, 3, 5, 8, 16)),
                         [](const auto& instance) {
                           return name(std::get<0>(instance.param)) + "_" +
                                  std::to_string(std::get<1>(instance.param)) + "_ranks";
                         });

INSTANTIATE_TEST_SUITE_P(Modes, Conformance,
                         ::testing::Combine(::testing::ValuesIn(kModes),
                                            ::testing::Values(1, 2, 3, 5, 8, 11, 16)),
                         [](const auto& instance) {
                           return name(std::get<0>(instance.param)) + "_" +
                                  std::to_string(std::get<1>(instance.param)) + "_ranks";
                         });

}  // namespace
}  // namespace paceline::testing
