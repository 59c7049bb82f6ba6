// The conformance suite of operations on device memory: every operation, type and op, in place and
// not, over fake devices (tests/harness/fake_device.h), whose work is late in an order that a seed
// decides. Slots are so short that most operations need several rounds. Once by the CPU alone, once
// with a stand-in of NCCL (tests/harness/standin_nccl.h).

#include <chrono>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "comm/base/try.h"
#include "tests/conformance/device_bodies.h"
#include "tests/harness/calls.h"
#include "tests/harness/plan_form.h"
#include "tests/harness/ranks.h"

namespace paceline::testing {
namespace {

// None, one, fewer than ranks, prime, several rounds with a rest.
constexpr std::size_t kCounts[] = {0, 1, 7, 101, 1009, 5 * 1024 + 3};

Status check_calls(Communicator& world, OperationKind kind, DataType type) {
  FakeDevice& device = devices_of(world).device(0);
  const int roots[] = {0, world.size() / 2, world.size() - 1};
  std::size_t turn = static_cast<std::size_t>(type);
  for (std::size_t i = 0; i < std::size(kCounts); ++i) {
    ++turn;
    const Call call{.kind = kind,
                    .count = count_of_call({.kind = kind, .ranks = world.size()}, kCounts[i]),
                    .type = type,
                    .op = kReduceOps[turn % std::size(kReduceOps)],
                    .root = roots[turn % std::size(roots)],
                    .asynchronous = turn % 4 == 0,
                    .in_place = turn % 2 == 0,
                    .device = &device};
    MadeCall made(call, turn, world.rank(), world.size());
    PACELINE_TRY(made.check(world));
  }
  return {};
}

Status check_every_kind(Communicator& world) {
  for (const OperationKind kind : kOperationKinds) {
    if (kind == OperationKind::kClose || !is_of_all(kind) || !moves_elements(kind)) continue;
    for (const DataType type : kDataTypes) PACELINE_TRY(check_calls(world, kind, type));
  }
  return {};
}

// Operations on host memory and on device memory take turns, many at once.
Status check_order(Communicator& world) {
  FakeDevice& device = devices_of(world).device(0);
  std::vector<std::unique_ptr<MadeCall>> made;
  for (std::size_t number = 0; number < 40; ++number) {
    const Call call{.kind = number % 3 == 0 ? OperationKind::kAllGather : OperationKind::kAllReduce,
                    .count = 300 + 50 * number,
                    .in_place = number % 2 == 0,
                    .device = number % 4 < 2 ? &device : nullptr};
    made.push_back(std::make_unique<MadeCall>(call, number, world.rank(), world.size()));
    made.back()->start(world);
  }
  for (const auto& one : made) {
    PACELINE_TRY(one->wait());
    PACELINE_TRY(one->verdict());
  }
  return {};
}

// An operation reads the result of the one before, without any wait of the CPU.
Status check_results_are_read_next(Communicator& world) {
  constexpr std::size_t kCount = 1500;
  FakeDevice& device = devices_of(world).device(0);
  std::byte* const memory = device.allocate(kCount * sizeof(float));
  auto* const seen = reinterpret_cast<float*>(device.seen(memory));
  std::fill_n(seen, kCount, 1.0f);
  std::vector<Work> works;
  for (int i = 0; i < 5; ++i)
    works.push_back(world.all_reduce_async(memory, memory, kCount, DataType::kFloat32));
  PACELINE_TRY(wait_all(works));
  float right = 1.0f;
  for (int i = 0; i < 5; ++i) right *= static_cast<float>(world.size());
  for (std::size_t i = 0; i < kCount; ++i)
    if (seen[i] != right) return wrong("element " + std::to_string(i));
  device.free(memory);
  return {};
}

// A kernel before the call, and one after wait_on(): in the order of the caller's stream.
Status check_stream_order(Communicator& world) {
  constexpr std::size_t kCount = 1500;
  FakeDevice& device = devices_of(world).device(0);
  PACELINE_TRY_ASSIGN(const DeviceStream stream, device.make_stream());
  std::byte* const memory = device.allocate(kCount * sizeof(float));
  auto* const seen = reinterpret_cast<float*>(device.seen(memory));
  world.set_stream(stream);
  float right = 0.0f;
  for (int step = 0; step < 4; ++step) {
    device.launch(stream, [=] {
      for (std::size_t i = 0; i < kCount; ++i) seen[i] += 1.0f;
    });
    const Work work = world.all_reduce_async(memory, memory, kCount, DataType::kFloat32);
    PACELINE_TRY(work.wait_on(stream));
    right = (right + 1.0f) * static_cast<float>(world.size());
  }
  float last = -1.0f;
  device.launch(stream, [&last, seen] { last = seen[kCount - 1]; });
  PACELINE_TRY(world.barrier());  // other ranks' devices, too, are at work
  device.run_all();
  if (last != right) return wrong("the stream did not wait for the operation");
  PACELINE_TRY(world.barrier());
  world.set_stream(nullptr);
  PACELINE_TRY(world.all_reduce(memory, memory, 1, DataType::kFloat32));
  device.free(memory);
  return {};
}

Status check_many(Communicator& world) {
  FakeDevice& device = devices_of(world).device(0);
  std::vector<Tensor> tensors;
  std::vector<std::byte*> memories;
  for (std::size_t i = 0; i < 20; ++i) {
    const std::size_t count = i * i * 7 % 400;
    std::byte* const memory = device.allocate(count * sizeof(float) + 1);
    std::fill_n(reinterpret_cast<float*>(device.seen(memory)), count, static_cast<float>(i));
    tensors.push_back({memory, memory, count});
    memories.push_back(memory);
  }
  PACELINE_TRY(world.all_reduce_many(tensors, DataType::kFloat32));
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto* const seen = reinterpret_cast<const float*>(device.seen(memories[i]));
    for (std::size_t j = 0; j < tensors[i].count; ++j)
      if (seen[j] != static_cast<float>(i) * static_cast<float>(world.size()))
        return wrong("tensor " + std::to_string(i));
    device.free(memories[i]);
  }
  return {};
}

class OnDevices : public ::testing::TestWithParam<std::tuple<Mode, int, Library>> {
 protected:
  void run(const std::function<Status(Communicator&)>& body) {
    RunOptions options{.mode = std::get<0>(GetParam()),
                       .ranks = std::get<1>(GetParam()),
                       .segment_bytes = 512,
                       .devices = 1,
                       .device_library = std::get<2>(GetParam()),
                       .device_slot_bytes = kSlotBytes};
    for (const std::uint64_t seed : seeds(options.mode == Mode::kSimulation ? 3 : 1)) {
      options.seed = seed;
      const Status status = run_ranks(options, [&](Communicator& world) -> Status {
        PACELINE_TRY(body(world));
        const std::string broken = devices_of(world).device(0).broken();
        return broken.empty() ? Status() : wrong(broken);
      });
      ASSERT_TRUE(status.ok()) << status.to_string();
    }
  }
};

TEST_P(OnDevices, EveryOperationIsExact) { run(check_every_kind); }
TEST_P(OnDevices, OperationsRunInTheOrderOfTheCalls) { run(check_order); }
TEST_P(OnDevices, ResultsAreReadByTheNextOperation) { run(check_results_are_read_next); }
TEST_P(OnDevices, StreamsWaitForOperations) { run(check_stream_order); }
TEST_P(OnDevices, ManyTensorsAreReduced) { run(check_many); }

INSTANTIATE_TEST_SUITE_P(
    All, OnDevices,
    ::testing::Combine(::testing::Values(Mode::kSimulation, Mode::kThreads, Mode::kDirectThreads,
                                         Mode::kProcesses, Mode::kCompositeThreads),
                       ::testing::Values(1, 2, 3, 5),
                       ::testing::Values(Library::kNone, Library::kNccl)),
    [](const auto& info) {
      const bool is_nccl = std::get<2>(info.param) == Library::kNccl;
      return name(std::get<0>(info.param)) + (is_nccl ? "_nccl_" : "_") +
             std::to_string(std::get<1>(info.param)) + "_ranks";
    });

// ---- Errors ----

// After the end of an operation, well or not, its memory may be freed at once.
TEST(DeviceErrors, NothingWritesMemoryThatIsFreedAfterAnAbort) {
  for (const std::uint64_t seed : seeds(60)) {
    const Status status = run_simulated(
        3, seed, std::chrono::seconds(10), [&](Communicator& world, FakeDevice& device) -> Status {
          Random random(seed * 10 + static_cast<std::uint64_t>(world.rank()));
          std::vector<std::unique_ptr<MadeCall>> made;
          for (std::size_t number = 0; number < 6; ++number) {
            const Call call{.kind = OperationKind::kAllReduce,
                            .count = 200 * number,
                            .in_place = number % 2 == 0,
                            .device = &device};
            made.push_back(std::make_unique<MadeCall>(call, number, world.rank(), 3));
            made.back()->start(world);
          }
          const bool aborts = world.rank() == static_cast<int>(seed % 3);
          if (aborts) {
            (void)made[random.below(made.size())]->work().wait_for(
                std::chrono::microseconds(random.below(200)));
            world.abort();
          }
          for (const auto& one : made) {
            const Status ended = one->wait();
            PACELINE_TRY(ended.ok() ? one->verdict() : Status());
          }
          made.clear();
          device.run_all();
          return {};
        });
    ASSERT_TRUE(status.ok()) << status.to_string();
  }
}

TEST(DeviceErrors, WaitingOnAStreamReturnsTheError) {
  for (const std::uint64_t seed : seeds(30)) {
    const Status status = run_simulated(
        2, seed, std::chrono::seconds(10), [](Communicator& world, FakeDevice& device) -> Status {
          MadeCall made({.kind = OperationKind::kAllReduce, .count = 1000, .device = &device}, 0,
                        world.rank(), 2);
          if (world.rank() == 1) {
            world.abort();
            return {};
          }
          made.start(world);
          PACELINE_TRY(expect(made.work().wait_on(nullptr), Code::kCancelled, "rank 1"));
          return made.work().test() ? Status() : wrong("it has not ended");
        });
    ASSERT_TRUE(status.ok()) << status.to_string();
  }
}

// Operations that ended well before it must be drained, too.
TEST(DeviceErrors, MemoryThatCannotBePinnedEndsTheCommunicator) {
  for (const std::uint64_t seed : seeds(30)) {
    const Status status = run_simulated(
        2, seed, std::chrono::seconds(10), [](Communicator& world, FakeDevice& device) -> Status {
          std::vector<std::unique_ptr<MadeCall>> made;
          for (const OperationKind kind : {OperationKind::kAllReduce, OperationKind::kAllToAllV}) {
            const Call call{.kind = kind, .count = 1000, .device = &device};
            made.push_back(std::make_unique<MadeCall>(call, made.size(), world.rank(), 2));
          }
          made[0]->start(world);
          if (world.rank() == 0) device.refuse_pins();
          made[1]->start(world);
          (void)made[0]->wait();
          made[0].reset();
          PACELINE_TRY(expect(made[1]->wait(), Code::kUnavailable, "GPU 0 cannot pin memory"));
          made.clear();
          device.run_all();
          return {};
        });
    ASSERT_TRUE(status.ok()) << status.to_string();
  }
}

TEST(DeviceErrors, BuffersWithoutElementsMayLieAnywhere) {
  const Status status = run_simulated(
      2, 1, std::chrono::seconds(10), [](Communicator& world, FakeDevice& device) -> Status {
        // Rank 1 has no elements: its block begins where the array ends.
        const std::size_t counts[] = {1000, 0};
        std::byte* const memory = device.allocate(4000);
        std::byte* const own = world.rank() == 0 ? memory : memory + 4096;
        std::fill_n(reinterpret_cast<float*>(device.seen(memory)), 1000,
                    world.rank() == 0 ? 7.0f : 0.0f);
        PACELINE_TRY(world.all_gather_v(own, memory, counts, DataType::kFloat32));
        if (reinterpret_cast<const float*>(device.seen(memory))[999] != 7.0f)
          return wrong("all_gather_v");
        // Nothing of rank 1 is in it at all.
        PACELINE_TRY(world.gather_v(world.rank() == 0 ? memory : nullptr,
                                    world.rank() == 0 ? memory : nullptr, counts,
                                    DataType::kFloat32, 0));
        return world.barrier();
      });
  EXPECT_TRUE(status.ok()) << status.to_string();
}

TEST(DeviceErrors, TensorsThatAreDividedInOtherWaysAreAMismatch) {
  const Status status = run_simulated(
      2, 1, std::chrono::seconds(10), [](Communicator& world, FakeDevice& device) -> Status {
        std::byte* const memory = device.allocate(4000);
        const std::size_t first = world.rank() == 0 ? 100 : 200;
        const Tensor tensors[] = {{memory, memory, first},
                                  {memory + 4 * first, memory + 4 * first, 300 - first}};
        const Status ended = world.all_reduce_many(tensors, DataType::kFloat32);
        device.run_all();
        return expect(ended, Code::kMismatch, "all_reduce");
      });
  EXPECT_TRUE(status.ok()) << status.to_string();
}

TEST(DeviceErrors, AStreamThatDoesNotReachTheCallIsNamed) {
  const Status status = run_simulated(
      2, 1, std::chrono::milliseconds(300), [](Communicator& world, FakeDevice& device) -> Status {
        PACELINE_TRY_ASSIGN(const DeviceStream stream, device.make_stream());
        MadeCall made({.kind = OperationKind::kAllReduce, .count = 1000, .device = &device}, 0,
                      world.rank(), 2);
        world.set_stream(stream);
        if (world.rank() == 0) {
          device.hold(stream);
          device.launch(stream, [] {});
        }
        made.start(world);
        const Status ended = made.wait();
        device.release(stream);
        device.run_all();
        if (world.rank() == 1) return ended.ok() ? wrong("no error") : Status();
        return expect(ended, Code::kTimeout,
                      "the work before all_reduce(1000 x float32, sum) on its stream of GPU 0");
      });
  EXPECT_TRUE(status.ok()) << status.to_string();
}

TEST(DeviceErrors, AnErrorOfTheDeviceEndsTheCommunicator) {
  const Status status = run_simulated(
      2, 1, std::chrono::seconds(10), [](Communicator& world, FakeDevice& device) -> Status {
        MadeCall made({.kind = OperationKind::kAllReduce, .count = 1000, .device = &device}, 0,
                      world.rank(), 2);
        made.start(world);
        if (world.rank() == 0) device.fail();
        const Status ended = made.wait();
        return expect(ended, Code::kUnavailable, "GPU 0 cannot");
      });
  EXPECT_TRUE(status.ok()) << status.to_string();
}

TEST(DeviceErrors, CallsThatCannotBeMadeAreRefused) {
  const Status status = run_simulated(
      1, 1, std::chrono::seconds(10), [](Communicator& world, FakeDevice& device) -> Status {
        std::byte* const memory = device.allocate(400);
        std::byte* const other = devices_of(world).device(1).allocate(400);
        std::vector<float> host(100);
        PACELINE_TRY(expect(world.all_reduce(memory, host.data(), 100, DataType::kFloat32),
                            Code::kInvalidArgument,
                            "one buffer lies in the memory of GPU 0 and another in host memory"));
        PACELINE_TRY(expect(world.all_reduce(memory, other, 100, DataType::kFloat32),
                            Code::kInvalidArgument, "another in the memory of GPU 1"));
        PACELINE_TRY(expect(world.all_reduce(memory, memory + 4, 50, DataType::kFloat32),
                            Code::kInvalidArgument, "overlap"));
        PACELINE_TRY_ASSIGN(const DeviceStream stream, device.make_stream());
        device.capture(stream);
        world.set_stream(stream);
        PACELINE_TRY(expect(world.all_reduce(memory, memory, 100, DataType::kFloat32),
                            Code::kInvalidArgument, "cannot become part of a graph"));
        world.set_stream(nullptr);
        return world.all_reduce(memory, memory, 100, DataType::kFloat32);
      });
  EXPECT_TRUE(status.ok()) << status.to_string();
}

}  // namespace
}  // namespace paceline::testing
