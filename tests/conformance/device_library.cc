// Errors of operations on device memory that a library carries out, here a stand-in of NCCL
// (tests/harness/standin_nccl.h), and its operations in graphs.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "comm/base/try.h"
#include "tests/conformance/device_bodies.h"
#include "tests/harness/calls.h"
#include "tests/harness/ranks.h"
#include "tests/harness/standin_nccl.h"

namespace paceline::testing {
namespace {

Status all_reduce(Communicator& world, FakeDevice& device, std::size_t count) {
  return MadeCall({.kind = OperationKind::kAllReduce, .count = count, .device = &device}, count,
                  world.rank(), world.size())
      .check(world);
}

// Waits for an operation that other ranks may never make.
Status error_of(Communicator& world, FakeDevice& device, std::size_t count) {
  MadeCall made({.kind = OperationKind::kAllReduce, .count = count, .device = &device}, count,
                world.rank(), world.size());
  made.start(world);
  return made.wait();
}

TEST(LibraryErrors, ARankThatCallsSomethingElseIsNamed) {
  const Status status = run_with_nccl(
      3, std::chrono::seconds(2), [](Communicator& world, FakeDevice& device) -> Status {
        PACELINE_TRY(all_reduce(world, device, 100));
        if (world.rank() == 1) return expect(world.barrier(), Code::kMismatch, "all_reduce");
        return expect(error_of(world, device, 200), Code::kMismatch, "barrier");
      });
  EXPECT_TRUE(status.ok()) << status.to_string();
}

// NCCL makes its connections at its first calls, and waits for the other ranks there.
TEST(LibraryErrors, ARankThatIsSilentIsNamed) {
  for (const DataType first : {DataType::kFloat32, DataType::kInt16}) {
    const Status status = run_on_devices(
        {.mode = Mode::kThreads,
         .ranks = 3,
         .timeout = std::chrono::seconds(1),
         .device_library = Library::kNccl},
        [&](Communicator& world, FakeDevice& device) -> Status {
          std::byte* const memory = device.allocate(400);
          PACELINE_TRY(world.all_reduce(memory, memory, 100, first));
          if (world.rank() == 1) {
            (void)std::promise<void>().get_future().wait_for(std::chrono::seconds(3));
            return {};
          }
          return expect(error_of(world, device, 200), Code::kTimeout, "rank 1");
        });
    EXPECT_TRUE(status.ok()) << status.to_string();
  }
}

// Before, while and after the ranks join.
TEST(LibraryErrors, AnAbortReachesOperationsThatWaitForTheLibrary) {
  for (const std::uint64_t seed : seeds(60)) {
    const Status status = run_on_devices(
        {.ranks = 3,
         .seed = seed,
         .timeout = std::chrono::seconds(10),
         .device_library = Library::kNccl},
        [&](Communicator& world, FakeDevice& device) -> Status {
          std::vector<std::unique_ptr<MadeCall>> made;
          for (std::size_t number = 0; number < 4; ++number) {
            const Call call{.kind = OperationKind::kAllReduce, .count = 100, .device = &device};
            made.push_back(std::make_unique<MadeCall>(call, number, world.rank(), 3));
            made.back()->start(world);
          }
          if (world.rank() == static_cast<int>(seed % 3)) {
            (void)made.back()->work().wait_for(std::chrono::microseconds(20 * (seed % 100)));
            world.abort();
          }
          for (const auto& one : made) {
            const Status ended = one->wait();
            PACELINE_TRY(ended.ok() ? one->verdict() : expect(ended, Code::kCancelled, "rank"));
          }
          made.clear();
          device.run_all();
          return {};
        });
    ASSERT_TRUE(status.ok()) << status.to_string();
  }
}

// Operations by NCCL and through host memory take turns, and each reads the result of the one
// before. A call between them that is refused changes nothing.
TEST(LibraryErrors, BothWaysKeepTheOrder) {
  const Status status = run_with_nccl(
      2, std::chrono::seconds(10), [](Communicator& world, FakeDevice& device) -> Status {
        constexpr std::size_t kCount = 1500;
        std::byte* const memory = device.allocate(kCount * sizeof(std::int32_t));
        auto* const seen = reinterpret_cast<std::int32_t*>(device.seen(memory));
        PACELINE_TRY_ASSIGN(const DeviceStream captured, device.make_stream());
        device.capture(captured);
        std::fill_n(seen, kCount, 1);
        std::vector<Work> works;
        std::int32_t right = 1;
        for (int turn = 0; turn < 7; ++turn) {
          works.push_back(world.all_reduce_async(memory, memory, kCount, DataType::kInt32));
          world.set_stream(captured);
          const Status refused =
              world.all_reduce_async(memory, memory, 2 * kCount, DataType::kInt16).wait();
          PACELINE_TRY(expect(refused, Code::kInvalidArgument, "cannot become part of a graph"));
          world.set_stream(nullptr);
          works.push_back(world.all_reduce_async(memory, memory, 2 * kCount, DataType::kInt16));
          right *= 4;
        }
        PACELINE_TRY(wait_all(works));
        for (std::size_t i = 0; i < kCount; ++i)
          if (seen[i] != right) return wrong("element " + std::to_string(i));
        return {};
      });
  EXPECT_TRUE(status.ok()) << status.to_string();
}

TEST(LibraryErrors, CallsThatDifferAreNamed) {
  const Status status = run_with_nccl(
      2, std::chrono::seconds(10), [](Communicator& world, FakeDevice& device) -> Status {
        PACELINE_TRY(all_reduce(world, device, 100));
        const auto count = static_cast<std::size_t>(200 + world.rank());
        return expect(error_of(world, device, count), Code::kMismatch, "count 20");
      });
  EXPECT_TRUE(status.ok()) << status.to_string();
}

// The library does not find out: the ranks do at their next operation by the CPU.
TEST(LibraryErrors, HostAndDeviceMemoryDiffer) {
  const Status status = run_with_nccl(
      2, std::chrono::seconds(10), [](Communicator& world, FakeDevice& device) -> Status {
        PACELINE_TRY(all_reduce(world, device, 100));
        if (world.rank() == 0)
          return error_of(world, device, 200).ok() ? wrong("no error") : Status();
        std::vector<float> host(200);
        return expect(world.all_reduce(std::span(host)), Code::kMismatch, "all_reduce");
      });
  EXPECT_TRUE(status.ok()) << status.to_string();
}

TEST(LibraryErrors, AnErrorOfTheLibraryIsNamed) {
  struct Expected {
    cuda::NcclResult error;
    Code code;
  };
  for (const Expected& expected : {Expected{cuda::kNcclRemoteError, Code::kPeerLost},
                                   Expected{cuda::kNcclSystemError, Code::kUnavailable},
                                   Expected{cuda::kNcclInternalError, Code::kInternal},
                                   Expected{cuda::kNcclInvalidUsage, Code::kInternal},
                                   Expected{cuda::kNcclUnhandledCudaError, Code::kUnavailable}}) {
    const Status status = run_with_nccl(
        2, std::chrono::seconds(10), [&](Communicator& world, FakeDevice& device) -> Status {
          PACELINE_TRY(all_reduce(world, device, 100));
          if (world.rank() == 0) {
            standin_nccl_fail(expected.error);
            return {};
          }
          const Status error = error_of(world, device, 200);
          return error.code() == expected.code || error.code() == Code::kPeerLost
                     ? Status()
                     : wrong("this is not the expected error: " + error.to_string());
        });
    EXPECT_TRUE(status.ok()) << status.to_string();
  }
}

TEST(LibraryErrors, ARankWithoutItLeavesAllToTheCpu) {
  const Status status = run_on_devices(
      {.ranks = 3,
       .timeout = std::chrono::seconds(10),
       .device_library = Library::kNccl,
       .rank_without_library = 1},
      [](Communicator& world, FakeDevice& device) { return all_reduce(world, device, 3000); });
  EXPECT_TRUE(status.ok()) << status.to_string();
}

TEST(LibraryErrors, AnotherDeviceIsRefused) {
  const Status status = run_with_nccl(
      2, std::chrono::seconds(10), [](Communicator& world, FakeDevice& device) -> Status {
        PACELINE_TRY(all_reduce(world, device, 100));
        PACELINE_TRY(expect(error_of(world, devices_of(world).device(1), 100),
                            Code::kInvalidArgument, "this communicator uses GPU 0"));
        return all_reduce(world, device, 100);
      });
  EXPECT_TRUE(status.ok()) << status.to_string();
}

// A kernel, an operation and a kernel become a graph, which runs once.
TEST(LibraryErrors, OperationsBecomePartsOfGraphs) {
  const Status status = run_with_nccl(
      2, std::chrono::seconds(10), [](Communicator& world, FakeDevice& device) -> Status {
        std::byte* const memory = device.allocate(400);
        auto* const seen = reinterpret_cast<float*>(device.seen(memory));
        PACELINE_TRY_ASSIGN(const DeviceStream stream, device.make_stream());
        world.set_stream(stream);
        PACELINE_TRY(all_reduce(world, device, 1));
        device.capture(stream);
        device.launch(stream, [=] { std::fill_n(seen, 100, 3.0f); });
        const Work work = world.all_reduce_async(memory, memory, 100, DataType::kFloat32);
        PACELINE_TRY(work.wait_on(stream));
        float last = 0;
        device.launch(stream, [&, seen] { last = seen[99]; });
        device.replay(stream);
        world.set_stream(nullptr);
        for (int i = 0; i < 100; ++i) {
          device.run_all();
          PACELINE_TRY(world.barrier());
        }
        return last == 6.0f ? Status() : wrong("the graph has not run");
      });
  EXPECT_TRUE(status.ok()) << status.to_string();
}

}  // namespace
}  // namespace paceline::testing
