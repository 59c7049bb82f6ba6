// The conformance suite of the collectives: one body, run as simulation, threads and processes,
// over every algorithm of the table. Every result is exact (tests/harness/calls.h).

#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "collectives/algo/algorithms.h"
#include "collectives/backend/shm/memory.h"
#include "comm/base/try.h"
#include "comm/memory_domain.h"
#include "telemetry/log.h"
#include "tests/harness/calls.h"
#include "tests/harness/plan_form.h"
#include "tests/harness/ranks.h"

namespace paceline::testing {
namespace {

constexpr std::size_t kSegmentBytes = 1024;
// Nothing, one, fewer than ranks, prime, not divisible by any number of ranks, several segments.
constexpr std::size_t kCounts[] = {0, 1, 7, 101, 1009, 5 * 1024 + 3};

Status wrong(const std::string& what) { return Status(Code::kInternal, Scope::kOperation, what); }

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
      if (of != round + 1) return wrong("barrier " + std::to_string(round) + " does not hold");
    }
  }
  return {};
}

// Not every combination: each type meets every op, count and root, and every op every count, in
// place and not.
Status check_calls(Communicator& world, OperationKind kind, DataType type,
                   bool registered = false) {
  const int roots[] = {0, world.size() / 2, world.size() - 1};
  std::size_t turn = static_cast<std::size_t>(type);
  for (std::size_t i = 0; i < std::size(kCounts); ++i) {
    for (const bool in_place : {i % 2 == 0, i % 2 != 0}) {
      ++turn;
      // What is only moved is moved in place or not, as it comes.
      if (!reduces(kind) && (turn + i) % 2 == 0) continue;
      const Call call{.kind = kind,
                      .count = count_of_call({.kind = kind, .ranks = world.size()}, kCounts[i]),
                      .type = type,
                      .op = kReduceOps[turn % std::size(kReduceOps)],
                      .root = roots[turn % std::size(roots)],
                      .asynchronous = turn % 4 == 0,
                      .in_place = in_place,
                      .registered = registered};
      MadeCall made(call, turn, world.rank(), world.size());
      if (Status status = made.check(world); !status.ok()) return status;
    }
  }
  return {};
}

Status check_every_type(Communicator& world, OperationKind kind, bool registered = false) {
  if (!moves_elements(kind)) return check_barrier_holds(world);
  for (const DataType type : kDataTypes) {
    if (Status status = check_calls(world, kind, type, registered); !status.ok()) return status;
  }
  return {};
}

// All kinds but close(), which ends a world.
Status check_every_kind(Communicator& world, bool registered = false) {
  for (const OperationKind kind : kOperationKinds) {
    if (kind == OperationKind::kClose || !is_of_all(kind)) continue;
    if (Status status = check_every_type(world, kind, registered); !status.ok()) return status;
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
    if (!works[0].test()) return wrong("operations end in another order than they were called");
    for (const float element : buffers[static_cast<std::size_t>(i)]) {
      if (element != static_cast<float>(i * world.size())) {
        return wrong("outstanding operation " + std::to_string(i));
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
    for (const OperationKind kind : kOperationKinds) {
      if (!moves_elements(kind) || !is_of_all(kind)) continue;
      if (Status status = check_calls(world, kind, DataType::kFloat32); !status.ok()) return status;
    }
    return {};
  };
  run(one_after_the_other, options());
}

TEST_P(Conformance, ManyOperationsMayBeOutstanding) { run(check_outstanding, options()); }

// The direct backend has no table of algorithms, and leaves to plans what it does not serve.
class Direct : public Conformance {};

TEST_P(Direct, EveryOperationIsExact) {
  const auto every_operation = [](Communicator& world) -> Status {
    if (Status status = check_every_kind(world); !status.ok()) return status;
    if (Status status = check_outstanding(world); !status.ok()) return status;
    return world.close();
  };
  run(every_operation, options());
}

// Where all arrays lie in buffers that all ranks reach, and where those of some do.
class Registered : public Conformance {};

TEST_P(Registered, EveryOperationIsExact) {
  const auto every_operation = [](Communicator& world) -> Status {
    if (Status status = check_every_kind(world, true); !status.ok()) return status;
    for (const OperationKind kind : {OperationKind::kAllGather, OperationKind::kBroadcast})
      PACELINE_TRY(check_calls(world, kind, DataType::kFloat32, world.rank() > 0));
    return check_every_type(world, OperationKind::kAllReduce, world.rank() > 0);
  };
  run(every_operation, options());
  EXPECT_EQ(MemoryDomain::of_process().use().allocated_bytes, 0u);
}

// By one method wherever it can carry them, where each rank has a CPU and where they share them.
class Forced : public ::testing::TestWithParam<std::tuple<ShmMethod, Mode, int>> {};

TEST_P(Forced, EveryOperationIsExact) {
  const auto [method, mode, ranks] = GetParam();
  const auto every_operation = [](Communicator& world) -> Status {
    for (const bool registered : {false, true}) {
      for (const OperationKind kind :
           {OperationKind::kBarrier, OperationKind::kAllReduce, OperationKind::kReduceScatter,
            OperationKind::kAllGather, OperationKind::kAllToAll, OperationKind::kBroadcast}) {
        const Status status = kind == OperationKind::kBarrier
                                  ? check_barrier_holds(world)
                                  : check_calls(world, kind, DataType::kFloat32, registered);
        if (!status.ok()) return status;
      }
    }
    if (Status status = check_outstanding(world); !status.ok()) return status;
    return world.close();
  };
  const Status status = run_ranks({.mode = mode,
                                   .ranks = ranks,
                                   .shared = {.method = [method = method](int) { return method; }}},
                                  every_operation);
  EXPECT_TRUE(status.ok()) << status.to_string();
}

class Lines final : public Log {
 public:
  void write(Severity, std::string_view text) override { all_.append(text).append("\n"); }
  const std::string& all() const { return all_; }

 private:
  std::string all_;  // rank 0 alone writes
};

// Of moderate length, by a method that follows from where arrays lie, if ranks have a CPU each.
class Moderate : public ::testing::TestWithParam<std::tuple<Mode, int>> {};

TEST_P(Moderate, OperationsAreExactWhereverArraysLie) {
  constexpr std::size_t kContribution = 16 << 10;
  const auto [mode, ranks] = GetParam();
  const auto here_and_there = [](Communicator& world) -> Status {
    std::size_t number = 0;
    const auto check = [&](OperationKind kind, int times, bool registered) -> Status {
      const bool has_blocks = shm::Memory::blocks_of(kind, world.size()) > 1;
      const std::size_t count =
          kContribution / sizeof(float) / (has_blocks ? static_cast<std::size_t>(world.size()) : 1);
      Status status;
      for (int time = 0; time < times && status.ok(); ++time) {
        MadeCall made({.kind = kind, .count = count, .registered = registered}, ++number,
                      world.rank(), world.size());
        status = made.check(world);
      }
      return status;
    };
    for (const OperationKind kind :
         {OperationKind::kAllReduce, OperationKind::kReduceScatter, OperationKind::kAllGather,
          OperationKind::kAllToAll, OperationKind::kBroadcast}) {
      PACELINE_TRY(check(kind, 5, true));
      PACELINE_TRY(check(kind, 1, world.rank() > 0));  // rank 0's are elsewhere
      PACELINE_TRY(check(kind, 3, true));
      PACELINE_TRY(check(kind, 2, world.rank() == 0));
      PACELINE_TRY(check(kind, 5, false));
    }
    return {};
  };
  const auto log = std::make_shared<Lines>();
  const Status status = run_ranks(
      {.mode = mode, .ranks = ranks, .shared = {.chunk_bytes = 2 * kContribution, .log = log}},
      here_and_there);
  EXPECT_TRUE(status.ok()) << status.to_string();
  const auto goes_by = [&](std::string_view method) {
    return log->all().find("all_reduce of 16384 B: " + std::string(method)) != std::string::npos;
  };
  for (const char* method : {"eager", "zero_copy", "pipelined"})
    EXPECT_EQ(goes_by(method), mode == Mode::kDirectThreads) << method << '\n' << log->all();
  EXPECT_EQ(goes_by("gathered"), mode != Mode::kDirectThreads) << log->all();
}

INSTANTIATE_TEST_SUITE_P(Modes, Moderate,
                         ::testing::Values(std::tuple(Mode::kDirectThreads, 2),
                                           std::tuple(Mode::kDirectThreads, 3),
                                           std::tuple(Mode::kGatheringThreads, 3)),
                         [](const auto& instance) {
                           return name(std::get<0>(instance.param)) + "_" +
                                  std::to_string(std::get<1>(instance.param)) + "_ranks";
                         });

// From 16 MiB on, arrays are written past the caches.
TEST(RegisteredAndLong, OperationsAreExact) {
  constexpr std::size_t kCount = (std::size_t{17} << 20) / sizeof(double);
  const auto each_once = [](Communicator& world) -> Status {
    for (const OperationKind kind :
         {OperationKind::kAllReduce, OperationKind::kReduceScatter, OperationKind::kAllGather,
          OperationKind::kAllToAll, OperationKind::kBroadcast, OperationKind::kExchange}) {
      const Call call{.kind = kind,
                      .count = count_of_call({.kind = kind, .ranks = world.size()}, kCount),
                      .type = DataType::kFloat64,
                      .in_place = false,
                      .registered = true};
      MadeCall made(call, 1, world.rank(), world.size());
      if (Status status = made.check(world); !status.ok()) return status;
    }
    return {};
  };
  for (const Mode mode : {Mode::kDirectThreads, Mode::kGatheringThreads}) {
    const Status status = run_ranks({.mode = mode, .ranks = 3}, each_once);
    EXPECT_TRUE(status.ok()) << name(mode) << ": " << status.to_string();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Methods, Forced,
    ::testing::Combine(::testing::Values(ShmMethod::kEager, ShmMethod::kGathered,
                                         ShmMethod::kPipelined, ShmMethod::kZeroCopy),
                       ::testing::Values(Mode::kDirectThreads, Mode::kGatheringThreads),
                       ::testing::Values(2, 3, 5)),
    [](const auto& instance) {
      return std::string(paceline::word_of(std::get<0>(instance.param))) + "_" +
             name(std::get<1>(instance.param)) + "_" + std::to_string(std::get<2>(instance.param)) +
             "_ranks";
    });

INSTANTIATE_TEST_SUITE_P(Modes, Registered,
                         ::testing::Combine(::testing::Values(Mode::kDirectThreads,
                                                              Mode::kGatheringThreads),
                                            ::testing::Values(2, 3, 5, 8)),
                         [](const auto& instance) {
                           return name(std::get<0>(instance.param)) + "_" +
                                  std::to_string(std::get<1>(instance.param)) + "_ranks";
                         });

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
