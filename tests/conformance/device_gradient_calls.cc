// Calls of gradient pipelines in device memory.

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "tests/conformance/device_pipelines.h"

namespace paceline::testing {
namespace {

TEST(DeviceGradientCalls, GradientsAreZerosAtFirst) {
  const Status status =
      run_pipelines({}, Way(), [](GradientPipeline& pipeline, FakeDevices& devices, int) -> Status {
        const std::byte* const seen = devices.device(0).seen(pipeline.gradient(3).data());
        for (std::size_t i = 0; i < pipeline.gradient(3).size(); ++i)
          if (seen[i] != std::byte{0}) return wrong("byte " + std::to_string(i));
        return {};
      });
  EXPECT_TRUE(status.ok()) << status.to_string();
}

class DeviceGradientWays : public ::testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(All, DeviceGradientWays, all_ways(), name_of);

TEST_P(DeviceGradientWays, ThreadsMarkGradientsOnStreamsOfTheirOwn) {
  const Status status = run_pipelines(
      {.mode = Mode::kThreads}, GetParam(),
      [](GradientPipeline& pipeline, FakeDevices& devices, int rank) -> Status {
        FakeDevice& device = devices.device(0);
        const auto mark = [&](std::size_t i, DeviceStream stream, int step, Status& marked) {
          auto* const seen = reinterpret_cast<float*>(device.seen(pipeline.gradient(i).data()));
          device.launch(stream,
                        [=] { std::fill_n(seen, 1000, static_cast<float>(2 * rank + step)); });
          marked = pipeline.ready_on(i, stream);
        };
        std::vector<DeviceStream> streams;
        for (int i = 0; i < 4; ++i) streams.push_back(device.make_stream().value());
        for (int step = 0; step < 50; ++step) {
          std::vector<Status> marked(4);
          std::vector<std::thread> threads;
          for (std::size_t i = 0; i < 4; ++i)
            threads.emplace_back([&, i] { mark(i, streams[i], step, marked[i]); });
          for (std::thread& thread : threads) thread.join();
          for (const Status& one : marked) PACELINE_TRY(one);
          PACELINE_TRY(pipeline.wait().status());
          for (std::size_t i = 0; i < 4; ++i) {
            const auto* const seen =
                reinterpret_cast<const float*>(device.seen(pipeline.gradient(i).data()));
            if (seen[0] != static_cast<float>(step + 1) || seen[999] != seen[0])
              return wrong("step " + std::to_string(step));
          }
        }
        return {};
      });
  EXPECT_TRUE(status.ok()) << status.to_string();
}

TEST_P(DeviceGradientWays, JoinGivesTheAveragesOfTheOthers) {
  const Status status = run_pipelines(
      {}, GetParam(), [](GradientPipeline& pipeline, FakeDevices& devices, int rank) -> Status {
        FakeDevice& device = devices.device(0);
        auto* const seen = reinterpret_cast<float*>(device.seen(pipeline.gradient(1).data()));
        if (rank == 0) {
          device.launch(nullptr, [=] { std::fill_n(seen, 1000, 3.0f); });
          PACELINE_TRY(pipeline.ready(1));
          PACELINE_TRY(pipeline.wait().status());
        } else {
          // Before the copy up.
          device.launch(nullptr, [=] { std::fill_n(seen, 1000, -1.0f); });
          PACELINE_TRY_ASSIGN(const auto step, pipeline.join_on(nullptr));
          if (!step || step->ranks != 1) return wrong("join");
        }
        float read = 0;
        device.launch(nullptr, [&read, seen] { read = seen[999]; });
        device.run_all();
        if (read != 3.0f) return wrong("the gradient is " + std::to_string(read));
        PACELINE_TRY_ASSIGN(const auto end, pipeline.join());
        return end ? wrong("no rank has data") : Status();
      });
  EXPECT_TRUE(status.ok()) << status.to_string();
}

// Work that reads an average lies before ready() of another gradient on the same stream.
TEST_P(DeviceGradientWays, AnUnusedGradientIsWrittenAfterEarlierReads) {
  for (const std::uint64_t seed : seeds(20)) {
    const Status status = run_pipelines(
        {.seed = seed}, GetParam(),
        [](GradientPipeline& pipeline, FakeDevices& devices, int rank) -> Status {
          FakeDevice& device = devices.device(0);
          const auto of = [&](std::size_t i) {
            return reinterpret_cast<float*>(device.seen(pipeline.gradient(i).data()));
          };
          PACELINE_TRY_ASSIGN(const DeviceStream stream, device.make_stream());
          for (std::size_t i = 0; i < 4; ++i) {
            device.launch(stream, [at = of(i)] { std::fill_n(at, 1000, 1.0f); });
            PACELINE_TRY(pipeline.ready_on(i, stream));
          }
          PACELINE_TRY(pipeline.wait_on(stream).status());
          for (int i = 0; i < 100; ++i) device.launch(stream, [] {});
          float read = 0;
          device.launch(stream, [&read, at = of(3)] { read = at[999]; });
          for (const std::size_t i : {3u, 0u}) {
            if (i == 3 && rank == 1) continue;
            device.launch(stream, [at = of(i)] { std::fill_n(at, 1000, 4.0f); });
            PACELINE_TRY(pipeline.ready_on(i, stream));
          }
          PACELINE_TRY(pipeline.wait().status());
          device.run_all();
          device.destroy_stream(stream);
          return read == 1 ? Status() : wrong("the read average is " + std::to_string(read));
        });
    EXPECT_TRUE(status.ok()) << status.to_string();
  }
}

// A kernel that writes another gradient takes long. The operations of a codec are in turn, so they
// wait for it.
TEST_P(DeviceGradientWays, AnEarlyBucketDoesNotWaitForLaterGradients) {
  if (GetParam().options.codec != Codec::kNone)
    GTEST_SKIP() << "the second operation of a codec comes after the first ones of other buckets";
  Way way = GetParam();
  way.options.bucket_bytes = 4032;  // of one gradient
  const Status status =
      run_pipelines({}, way, [](GradientPipeline& pipeline, FakeDevices& devices, int) -> Status {
        FakeDevice& device = devices.device(0);
        PACELINE_TRY_ASSIGN(const DeviceStream quick, device.make_stream());
        PACELINE_TRY_ASSIGN(const DeviceStream slow, device.make_stream());
        device.hold(slow);
        device.launch(slow, [] {});
        for (const std::size_t i : {3u, 2u, 1u, 0u})
          PACELINE_TRY(pipeline.ready_on(i, i == 2 ? slow : quick));
        PACELINE_TRY(pipeline.wait_on(3, quick));
        device.release(slow);
        PACELINE_TRY(pipeline.wait().status());
        device.run_all();
        device.destroy_stream(quick);
        device.destroy_stream(slow);
        return {};
      });
  EXPECT_TRUE(status.ok()) << status.to_string();
}

// A bucket falls apart when a gradient in its middle freezes.
TEST_P(DeviceGradientWays, FrozenGradientsChangeBuckets) {
  Way way = GetParam();
  way.options.bucket_bytes = 1 << 20;
  const Status status = run_pipelines(
      {}, way, [](GradientPipeline& pipeline, FakeDevices& devices, int rank) -> Status {
        FakeDevice& device = devices.device(0);
        for (const std::size_t frozen : {4u, 1u, 2u, 4u}) {
          for (std::size_t i = 0; i < 4; ++i) PACELINE_TRY(pipeline.set_frozen(i, i == frozen));
          for (std::size_t i = 0; i < 4; ++i) {
            if (i == frozen) continue;
            auto* const at = reinterpret_cast<float*>(device.seen(pipeline.gradient(i).data()));
            device.launch(nullptr, [=] {
              std::fill_n(at, 1000, static_cast<float>(static_cast<int>(i) + 2 * rank));
            });
            PACELINE_TRY(pipeline.ready(i));
          }
          PACELINE_TRY(pipeline.wait().status());
          for (std::size_t i = 0; i < 4; ++i) {
            const auto* const at =
                reinterpret_cast<const float*>(device.seen(pipeline.gradient(i).data()));
            if (i != frozen && (at[0] != static_cast<float>(i) + 1 || at[999] != at[0]))
              return wrong("gradient " + std::to_string(i));
          }
        }
        return {};
      });
  EXPECT_TRUE(status.ok()) << status.to_string();
}

// The last join() leaves nothing behind that writes gradients.
TEST_P(DeviceGradientWays, AStepFollowsTheEndOfAnEpoch) {
  for (const std::uint64_t seed : seeds(20)) {
    const Status status = run_pipelines(
        {.seed = seed}, GetParam(),
        [](GradientPipeline& pipeline, FakeDevices& devices, int) -> Status {
          FakeDevice& device = devices.device(0);
          PACELINE_TRY_ASSIGN(const DeviceStream stream, device.make_stream());
          for (int epoch = 0; epoch < 2; ++epoch) {
            for (std::size_t i = 0; i < 4; ++i) {
              auto* const at = reinterpret_cast<float*>(device.seen(pipeline.gradient(i).data()));
              device.launch(stream, [at] { std::fill_n(at, 1000, 4.0f); });
              PACELINE_TRY(pipeline.ready_on(i, stream));
            }
            PACELINE_TRY(pipeline.wait().status());
            for (std::size_t i = 0; i < 4; ++i)
              if (reinterpret_cast<float*>(device.seen(pipeline.gradient(i).data()))[999] != 4.0f)
                return wrong("epoch " + std::to_string(epoch));
            for (int k = 0; k < 20; ++k) device.launch(stream, [] {});
            PACELINE_TRY_ASSIGN(const auto end, pipeline.join_on(stream));
            if (end) return wrong("no rank has data");
          }
          device.run_all();
          device.destroy_stream(stream);
          return {};
        });
    ASSERT_TRUE(status.ok()) << status.to_string();
  }
}

TEST_P(DeviceGradientWays, WrongCallsAreRefused) {
  const Status status = run_pipelines(
      {.ranks = 1}, GetParam(),
      [](GradientPipeline& pipeline, FakeDevices& devices, int) -> Status {
        FakeDevice& device = devices.device(0);
        PACELINE_TRY_ASSIGN(const DeviceStream other, devices.device(1).make_stream());
        PACELINE_TRY_ASSIGN(const DeviceStream captured, device.make_stream());
        device.capture(captured);
        std::vector<float> host(1000);
        const auto refused = [](const Status& how, const char* why) {
          return expect(how, Code::kInvalidArgument, why);
        };
        PACELINE_TRY(refused(pipeline.ready_on(0, other), "the stream is one of GPU 1"));
        PACELINE_TRY(refused(pipeline.wait_on(0, other), "the stream is one of GPU 1"));
        PACELINE_TRY(refused(pipeline.ready_on(0, captured), "part of a graph"));
        PACELINE_TRY(refused(pipeline.wait_on(captured).status(), "part of a graph"));
        PACELINE_TRY(refused(pipeline.ready(0, host.data()), "it lies in host memory"));
        PACELINE_TRY(refused(pipeline.ready(0, nullptr), "the pointer is null"));
        PACELINE_TRY(refused(pipeline.ready(4), "does not exist"));
        PACELINE_TRY(pipeline.set_accumulating(true));
        PACELINE_TRY(refused(pipeline.ready(0, pipeline.gradient(0).data()), "micro-steps"));
        PACELINE_TRY(pipeline.set_accumulating(false));
        PACELINE_TRY(pipeline.ready(0));
        PACELINE_TRY(refused(pipeline.ready(0), "more than once"));
        PACELINE_TRY(pipeline.wait().status());
        device.replay(captured);
        return {};
      });
  EXPECT_TRUE(status.ok()) << status.to_string();
}

TEST(DeviceGradientCalls, HostGradientsHaveNoStream) {
  const Status status = run_ranks({.ranks = 1, .devices = 1}, [](Communicator& world) -> Status {
    PACELINE_TRY_ASSIGN(const DeviceStream stream, devices_of(world).device(0).make_stream());
    PACELINE_TRY_ASSIGN(GradientPipeline pipeline,
                        GradientPipeline::over(std::move(world), {{.name = "w", .count = 10}}));
    PACELINE_TRY(expect(pipeline.ready_on(0, stream), Code::kInvalidArgument, "must be NULL"));
    PACELINE_TRY(expect(pipeline.wait_on(0, stream), Code::kInvalidArgument, "must be NULL"));
    PACELINE_TRY(pipeline.ready_on(0, nullptr));
    return pipeline.wait_on(nullptr).status();
  });
  EXPECT_TRUE(status.ok()) << status.to_string();
}

TEST(DeviceGradientCalls, RanksMustAgreeOnThePlace) {
  const Status status = run_ranks({.ranks = 2, .devices = 1}, [](Communicator& world) -> Status {
    const bool on_device = world.rank() == 0;
    return expect(GradientPipeline::over(std::move(world), {{.name = "w", .count = 10}},
                                         {.on_device = on_device})
                      .status(),
                  Code::kMismatch, "options");
  });
  EXPECT_TRUE(status.ok()) << status.to_string();
}

// One rank's device cannot run kernels.
TEST(DeviceGradientCalls, WithoutKernelsTheCpuReducesCopies) {
  for (const bool needs_kernels : {false, true}) {
    const Status status = run_ranks(
        {.ranks = 3, .devices = 1, .device_library = Library::kNccl},
        [needs_kernels](Communicator& world) -> Status {
          if (world.rank() == 1) devices_of(world).device(0).refuse_kernels();
          PACELINE_TRY_ASSIGN(
              GradientPipeline pipeline,
              GradientPipeline::over(std::move(world), {{.name = "w", .count = 1000}},
                                     {.finds_overflow = needs_kernels, .on_device = true}));
          const bool by_library = pipeline.describe().find("in GPU memory") != std::string::npos;
          PACELINE_TRY(pipeline.ready(0));
          PACELINE_TRY(pipeline.wait().status());
          return by_library == !needs_kernels ? Status() : wrong(pipeline.describe());
        });
    EXPECT_TRUE(status.ok()) << status.to_string();
  }
}

}  // namespace
}  // namespace paceline::testing
