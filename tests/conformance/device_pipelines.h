// Gradient pipelines in device memory, over fake devices (tests/harness/fake_device.h), by each way
// in which they reduce gradients: by copies, and by the stand-in of NCCL.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <paceline/gradient_pipeline.h>

#include "comm/base/try.h"
#include "tests/harness/ranks.h"

namespace paceline::testing {

using Library = RunOptions::Library;

using PipelineBody = std::function<Status(GradientPipeline&, FakeDevices&, int rank)>;

// How a pipeline reduces gradients.
struct Way {
  const char* name = "copies";
  Library library = Library::kNone;
  GradientOptions options{.bucket_bytes = 4000, .finds_overflow = false, .on_device = true};
};

// `body` gets a pipeline of 4 gradients of 1000 elements.
inline Status run_pipelines(RunOptions options, const Way& way, const PipelineBody& body) {
  options.device_library = way.library;
  options.devices = 2;
  return run_ranks(options, [&](Communicator& world) -> Status {
    FakeDevices& devices = devices_of(world);
    const int rank = world.rank();
    const std::vector<Parameter> parameters(4, Parameter{.name = "w", .count = 1000});
    {
      PACELINE_TRY_ASSIGN(GradientPipeline pipeline,
                          GradientPipeline::over(std::move(world), parameters, way.options));
      const bool by_library = pipeline.describe().find("in GPU memory") != std::string::npos;
      if (by_library != (way.library != Library::kNone)) return wrong("the way");
      PACELINE_TRY(body(pipeline, devices, rank));
    }
    devices.device(0).run_all();
    const std::string broken = devices.device(0).broken();
    return broken.empty() ? Status() : wrong(broken);
  });
}

inline Status expect(const Status& error, Code code, const std::string& text) {
  if (error.code() == code && error.text().find(text) != std::string::npos) return {};
  return wrong("this is not the expected error: " + error.to_string());
}

inline Way by_library(const char* name, Library library, bool looks, Codec codec) {
  Way way{.name = name, .library = library};
  way.options.finds_overflow = way.options.computes_norm = looks;
  way.options.codec = codec;
  return way;
}

inline auto all_ways() {
  return ::testing::Values(
      Way(), by_library("library", Library::kNccl, false, Codec::kNone),
      by_library("without_revoke", Library::kNcclWithoutRevoke, false, Codec::kNone),
      by_library("looks", Library::kNccl, true, Codec::kNone),
      by_library("bf16", Library::kNccl, false, Codec::kBf16),
      by_library("fp16_looks", Library::kNccl, true, Codec::kFp16));
}
inline std::string name_of(const ::testing::TestParamInfo<Way>& info) { return info.param.name; }

}  // namespace paceline::testing
