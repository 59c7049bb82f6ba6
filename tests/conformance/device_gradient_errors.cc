// Errors of gradient pipelines in device memory.

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "comm/base/random.h"
#include "tests/conformance/device_pipelines.h"

namespace paceline::testing {
namespace {

class DeviceGradientFailures : public ::testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(All, DeviceGradientFailures, all_ways(), name_of);

// Gradients that lie elsewhere are freed as soon as wait() has returned the error.
TEST_P(DeviceGradientFailures, NothingReadsMemoryThatIsFreedAfterAnAbort) {
  for (const std::uint64_t seed : seeds(50)) {
    const Status status =
        run_pipelines({.ranks = 3, .seed = seed}, GetParam(),
                      [seed](GradientPipeline& pipeline, FakeDevices& devices, int rank) -> Status {
                        FakeDevice& device = devices.device(0);
                        Random random(seed * 10 + static_cast<std::uint64_t>(rank));
                        PACELINE_TRY_ASSIGN(const DeviceStream stream, device.make_stream());
                        const bool aborts = rank == static_cast<int>(seed % 3);
                        // After the first step, when all ranks have their pipelines.
                        const std::uint64_t aborts_before = 4 + random.below(8);
                        bool has_failed = false;
                        for (std::uint64_t step = 0; step < 3 && !has_failed; ++step) {
                          std::vector<std::byte*> used;
                          for (std::size_t i = 0; i < 4 && !has_failed; ++i) {
                            if (aborts && 4 * step + i == aborts_before) pipeline.abort();
                            used.push_back(device.allocate(4000));
                            device.launch(stream, [] {});
                            has_failed = !pipeline.ready_on(i, used.back(), stream).ok();
                          }
                          if (step > 0 && random.below(4) == 0) break;  // and leaves
                          if (!has_failed && step % 2 == 0)
                            has_failed = !pipeline.wait_on(1, stream).ok();
                          has_failed = !pipeline.wait_on(stream).ok();
                          for (std::byte* const memory : used) device.free(memory);
                        }
                        return {};
                      });
    ASSERT_TRUE(status.ok()) << status.to_string();
  }
}

// Rank 1 may hear of it at any call.
TEST_P(DeviceGradientFailures, AnErrorOfTheDeviceEndsThePipeline) {
  const RunOptions options{.devices = 1, .device_library = GetParam().library};
  const Status status = run_ranks(options, [](Communicator& world) -> Status {
    FakeDevice& device = devices_of(world).device(0);
    const bool fails = world.rank() == 0;
    Result<GradientPipeline> pipeline = GradientPipeline::over(
        std::move(world), {{.name = "w", .count = 1000}}, GetParam().options);
    Status how = pipeline.status();
    if (how.ok()) how = pipeline->ready(0);
    if (fails) device.fail();
    if (how.ok()) how = pipeline->wait().status();
    return expect(how, Code::kUnavailable, "rank 0 on sim0: GPU 0 cannot");
  });
  EXPECT_TRUE(status.ok()) << status.to_string();
}

TEST_P(DeviceGradientFailures, AStreamThatDoesNotReachTheCallIsNamed) {
  const bool copies = GetParam().library == Library::kNone;
  const Status status = run_pipelines(
      {.timeout = std::chrono::milliseconds(300)}, GetParam(),
      [copies](GradientPipeline& pipeline, FakeDevices& devices, int rank) -> Status {
        FakeDevice& device = devices.device(0);
        PACELINE_TRY_ASSIGN(const DeviceStream stream, device.make_stream());
        if (rank == 0) {
          device.hold(stream);
          device.launch(stream, [] {});
        }
        const Status marked = pipeline.ready_on(2, stream);
        const Status ended = marked.ok() ? pipeline.wait().status() : marked;
        device.release(stream);
        if (rank == 1) return ended.ok() ? wrong("no error") : Status();
        return expect(ended, Code::kTimeout,
                      copies ? "the work before ready() of gradient 2 (w) on its stream of GPU 0"
                             : "rank 0 on sim0 has called it, and waits for its GPU");
      });
  EXPECT_TRUE(status.ok()) << status.to_string();
}

// A stuck stream keeps the memory of the pipeline.
TEST_P(DeviceGradientFailures, MemoryInUseIsNotFreed) {
  const RunOptions options{.timeout = std::chrono::milliseconds(300),
                           .devices = 1,
                           .device_library = GetParam().library};
  const Status status = run_ranks(options, [](Communicator& world) -> Status {
    FakeDevice& device = devices_of(world).device(0);
    const bool is_stuck = world.rank() == 0;
    PACELINE_TRY_ASSIGN(const DeviceStream stream, device.make_stream());
    {
      PACELINE_TRY_ASSIGN(GradientPipeline pipeline,
                          GradientPipeline::over(std::move(world), {{.name = "w", .count = 1000}},
                                                 GetParam().options));
      if (is_stuck) device.hold(stream);
      device.launch(stream, [] {});
      if (pipeline.ready_on(0, stream).ok() && pipeline.wait().ok()) return wrong("no error");
    }
    device.release(stream);
    device.run_all();
    const std::string broken = device.broken();
    return broken.empty() ? Status() : wrong(broken);
  });
  EXPECT_TRUE(status.ok()) << status.to_string();
}

TEST(DeviceGradientErrors, KernelsThatDoNotEndAreNamed) {
  Way way = by_library("", Library::kNccl, false, Codec::kNone);
  way.options.computes_norm = true;
  const Status status = run_pipelines(
      {.timeout = std::chrono::milliseconds(300)}, way,
      [](GradientPipeline& pipeline, FakeDevices& devices, int rank) -> Status {
        FakeDevice& device = devices.device(0);
        device.hold_kernels(rank == 0);
        const Status ended = pipeline.wait().status();
        device.hold_kernels(false);
        if (rank == 1) return Status();
        return expect(ended, Code::kTimeout,
                      "kernels for reduced gradients have not ended within the timeout on GPU 0");
      });
  EXPECT_TRUE(status.ok()) << status.to_string();
}

TEST(DeviceGradientErrors, NoRankGetsAPipelineIfOneCannotPinMemory) {
  const Status status = run_ranks({.ranks = 2, .devices = 1}, [](Communicator& world) -> Status {
    FakeDevice& device = devices_of(world).device(0);
    const bool refuses = world.rank() == 1;
    if (refuses) device.refuse_pins();
    const Status made =
        GradientPipeline::over(std::move(world), {{.name = "w", .count = 10}}, {.on_device = true})
            .status();
    PACELINE_TRY(expect(made, Code::kUnavailable, refuses ? "cannot pin" : "rank 1"));
    const std::string broken = device.broken();
    return broken.empty() ? Status() : wrong(broken);
  });
  EXPECT_TRUE(status.ok()) << status.to_string();
}

}  // namespace
}  // namespace paceline::testing
