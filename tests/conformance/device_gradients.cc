// Gradient pipelines in device memory, over fake devices (tests/harness/fake_device.h), whose work
// is late in an order that a seed decides. Kernels write gradients on a stream, and kernels read
// the results after wait_on(). The results must have the bits of a pipeline in host memory.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <paceline/gradient_pipeline.h>

#include "comm/base/try.h"
#include "tests/conformance/device_model.h"
#include "tests/harness/ranks.h"

namespace paceline::testing {
namespace {

constexpr int kSteps = 6;

struct Outcome {
  std::vector<std::byte> gradients;
  std::vector<StepResult> results;
};

// Runs the steps. A derived class says where gradients lie.
class Trainer {
 public:
  Trainer(GradientPipeline& pipeline, int rank, int ranks, bool overflows)
      : pipeline_(pipeline), rank_(rank), ranks_(ranks), overflows_(overflows) {}
  virtual ~Trainer() = default;

  Result<Outcome> train() {
    PACELINE_TRY(pipeline_.set_frozen(kFrozen, true));
    for (int step = 0; step < kSteps; ++step) {
      is_first_.assign(pipeline_.parameters().size(), true);
      for (int micro = 0; micro < micro_steps(step); ++micro) {
        PACELINE_TRY(pipeline_.set_accumulating(micro + 1 < micro_steps(step)));
        PACELINE_TRY(backward(step, micro));
        if (micro + 1 == micro_steps(step)) continue;
        PACELINE_TRY(pipeline_.wait().status());
      }
      PACELINE_TRY(end_step(step));
    }
    finish();
    return std::move(outcome_);
  }

 protected:
  using Kernel = std::function<void(std::byte*)>;

  // Calls `kernel` with the memory of the gradient, in the order of the trainer's work.
  virtual void launch(std::size_t parameter, Kernel kernel) = 0;
  virtual Status ready(int step, std::size_t parameter) = 0;
  virtual Status end_step(int step) = 0;
  virtual void finish() {}

  void note(const StepResult& result) { outcome_.results.push_back(result); }
  void read(std::size_t parameter) {
    const std::size_t bytes = pipeline_.gradient(parameter).size();
    launch(parameter, [this, bytes](const std::byte* gradient) {
      outcome_.gradients.insert(outcome_.gradients.end(), gradient, gradient + bytes);
    });
  }
  void read_all() {
    for (std::size_t i = 0; i < pipeline_.parameters().size(); ++i)
      if (i != kFrozen) read(i);
  }

  GradientPipeline& pipeline_;
  const int rank_, ranks_;

 private:
  // An element of the last rank.
  double written(int step, int micro, int use, std::size_t parameter, std::size_t element) const {
    const bool is_infinite = overflows_ && step == kOverflowStep && rank_ == ranks_ - 1 &&
                             parameter == kOverflowing && element % 100 == 99;
    return is_infinite ? INFINITY : value(rank_, step, micro, use, parameter, element);
  }

  Status backward(int step, int micro) {
    for (std::size_t i = pipeline_.parameters().size(); i-- > 0;) {
      const Parameter& parameter = pipeline_.parameters()[i];
      for (int use = 0; use < uses(rank_, ranks_, step, micro, parameter); ++use) {
        write(step, micro, use, i);
        PACELINE_TRY(ready(step, i));
      }
    }
    return {};
  }

  void write(int step, int micro, int use, std::size_t i) {
    const Parameter& parameter = pipeline_.parameters()[i];
    const bool adds = !is_first_[i];
    is_first_[i] = false;
    const auto fill = [=, this, count = parameter.count](auto* elements) {
      using Element = std::remove_pointer_t<decltype(elements)>;
      for (std::size_t e = 0; e < count; ++e) {
        const auto added = static_cast<Element>(written(step, micro, use, i, e));
        elements[e] = adds ? elements[e] + added : added;
      }
    };
    launch(i, [fill, type = parameter.type](std::byte* gradient) {
      if (type == DataType::kFloat64)
        fill(reinterpret_cast<double*>(gradient));
      else
        fill(reinterpret_cast<float*>(gradient));
    });
  }

  const bool overflows_;
  std::vector<bool> is_first_;
  Outcome outcome_;
};

class HostTrainer final : public Trainer {
 public:
  using Trainer::Trainer;

 private:
  void launch(std::size_t parameter, Kernel kernel) override {
    kernel(pipeline_.gradient(parameter).data());
  }
  Status ready(int, std::size_t parameter) override { return pipeline_.ready(parameter); }
  Status end_step(int) override {
    PACELINE_TRY_ASSIGN(const StepResult result, pipeline_.wait());
    note(result);
    read_all();
    return {};
  }
};

class DeviceTrainer final : public Trainer {
 public:
  DeviceTrainer(GradientPipeline& pipeline, FakeDevice& device, int rank, int ranks, bool overflows)
      : Trainer(pipeline, rank, ranks, overflows),
        device_(device),
        stream_(device.make_stream().value()) {}
  ~DeviceTrainer() override {
    device_.run_all();
    device_.destroy_stream(stream_);
  }

 private:
  void launch(std::size_t parameter, Kernel kernel) override {
    const std::span<std::byte> gradient = pipeline_.gradient(parameter);
    if (gradient.empty()) return;
    std::byte* const seen = device_.seen(gradient.data());
    device_.launch(stream_, [kernel = std::move(kernel), seen] { kernel(seen); });
  }

  // Some gradients lie elsewhere.
  Status ready(int step, std::size_t parameter) override {
    const Parameter& of = pipeline_.parameters()[parameter];
    if (of.uses > 1 || micro_steps(step) > 1 || of.count == 0 || (step + rank_) % 4 != 0)
      return pipeline_.ready_on(parameter, stream_);
    const std::span<std::byte> gradient = pipeline_.gradient(parameter);
    std::byte* const elsewhere = device_.allocate(gradient.size());
    const std::byte* const from = device_.seen(gradient.data());
    std::byte* const to = device_.seen(elsewhere);
    device_.launch(stream_, [=, bytes = gradient.size()] { std::memcpy(to, from, bytes); });
    used_.push_back(elsewhere);
    return pipeline_.ready_on(parameter, elsewhere, stream_);
  }

  Status end_step(int step) override {
    if (step % 3 == 0) {
      PACELINE_TRY_ASSIGN(const StepResult result, pipeline_.wait());
      note(result);
      read_all();
    } else if (step % 3 == 1) {
      PACELINE_TRY_ASSIGN(const StepResult result, pipeline_.wait_on(stream_));
      note(result);
      read_all();
    } else {
      for (std::size_t i = 0; i < pipeline_.parameters().size(); ++i) {
        if (i == kFrozen) continue;
        PACELINE_TRY(pipeline_.wait_on(i, stream_));
        read(i);
      }
      PACELINE_TRY_ASSIGN(const StepResult result, pipeline_.wait_on(stream_));
      note(result);
    }
    for (std::byte* const memory : used_) device_.free(memory);
    used_.clear();
    return {};
  }

  void finish() override { device_.run_all(); }

  FakeDevice& device_;
  const DeviceStream stream_;
  std::vector<std::byte*> used_;
};

using Library = RunOptions::Library;

// Each rank's outcome, on the host or the device.
Status train(RunOptions options, const GradientOptions& pipeline_options,
             std::vector<Outcome>& outcomes, bool overflows = false) {
  outcomes.resize(static_cast<std::size_t>(options.ranks));
  options.devices = 1;
  return run_ranks(options, [&](Communicator& world) -> Status {
    FakeDevice& device = devices_of(world).device(0);
    const int rank = world.rank();
    {
      PACELINE_TRY_ASSIGN(GradientPipeline pipeline,
                          GradientPipeline::over(std::move(world), model(), pipeline_options));
      const bool by_library = pipeline.describe().find("in GPU memory") != std::string::npos;
      const bool is_coded = pipeline.describe().find(" as ") != std::string::npos;
      if (by_library != (options.device_library != Library::kNone)) return wrong("the way");
      if (by_library && is_coded != (pipeline_options.codec != Codec::kNone && options.ranks > 1))
        return wrong("the codec");
      std::unique_ptr<Trainer> trainer =
          std::make_unique<HostTrainer>(pipeline, rank, options.ranks, overflows);
      if (pipeline_options.on_device)
        trainer = std::make_unique<DeviceTrainer>(pipeline, device, rank, options.ranks, overflows);
      PACELINE_TRY_ASSIGN(outcomes[static_cast<std::size_t>(rank)], trainer->train());
    }
    const std::string broken = device.broken();
    return broken.empty() ? Status() : wrong(broken);
  });
}

// Of the model's gradients, step after step.
void expect_near(const std::vector<std::byte>& expected, const std::vector<std::byte>& found,
                 double apart) {
  ASSERT_EQ(expected.size(), found.size());
  ASSERT_FALSE(found.empty());
  std::size_t at = 0;
  const auto next = [&at](const std::vector<std::byte>& from, DataType type) -> double {
    double value = 0;
    float narrow = 0;
    if (type == DataType::kFloat64)
      std::memcpy(&value, from.data() + at, sizeof value);
    else
      std::memcpy(&narrow, from.data() + at, sizeof narrow);
    return type == DataType::kFloat64 ? value : narrow;
  };
  for (int step = 0; step < kSteps; ++step) {
    for (const Parameter& one : model()) {
      if (one.name == "frozen") continue;
      for (std::size_t i = 0; i < one.count; ++i) {
        const double wanted = next(expected, one.type), got = next(found, one.type);
        if (std::isfinite(wanted) || std::isfinite(got)) {
          ASSERT_LE(std::abs(wanted - got), apart * std::abs(wanted))
              << "step " << step << ", " << one.name << " " << i << ": " << got << ", not "
              << wanted;
        }
        at += size_of(one.type);
      }
    }
  }
}

class DeviceGradients : public ::testing::TestWithParam<std::tuple<Mode, int, Codec>> {};

TEST_P(DeviceGradients, HaveTheBitsOfHostGradients) {
  const auto [mode, ranks, codec] = GetParam();
  GradientOptions options{.bucket_bytes = 6000,
                          .computes_norm = true,
                          .codec = codec,
                          .forces_codec = codec != Codec::kNone};
  for (const std::uint64_t seed : seeds(mode == Mode::kSimulation ? 5 : 1)) {
    // Buckets do not depend on measured times.
    const RunOptions run{
        .mode = mode, .ranks = ranks, .seed = seed, .determinism = Determinism::kRunStable};
    std::vector<Outcome> on_host, on_device;
    options.on_device = false;
    Status status = train(run, options, on_host);
    ASSERT_TRUE(status.ok()) << status.to_string();
    options.on_device = true;
    status = train(run, options, on_device);
    ASSERT_TRUE(status.ok()) << status.to_string();
    for (std::size_t rank = 0; rank < on_host.size(); ++rank) {
      ASSERT_FALSE(on_host[rank].gradients.empty());
      const auto differ = std::ranges::mismatch(on_host[rank].gradients, on_device[rank].gradients);
      ASSERT_EQ(on_host[rank].gradients.end() - differ.in1, 0)
          << "rank " << rank << ", byte " << differ.in1 - on_host[rank].gradients.begin() << " of "
          << on_host[rank].gradients.size();
      ASSERT_EQ(on_host[rank].results.size(), on_device[rank].results.size());
      for (std::size_t i = 0; i < on_host[rank].results.size(); ++i) {
        EXPECT_EQ(on_host[rank].results[i].norm, on_device[rank].results[i].norm);
        EXPECT_EQ(on_host[rank].results[i].ranks, on_device[rank].results[i].ranks);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, DeviceGradients,
    ::testing::Combine(::testing::Values(Mode::kSimulation, Mode::kThreads, Mode::kDirectThreads),
                       ::testing::Values(1, 2, 3),
                       ::testing::Values(Codec::kNone, Codec::kBf16, Codec::kInt8, Codec::kTopK)),
    [](const auto& info) {
      return name(std::get<0>(info.param)) + "_" + std::to_string(std::get<1>(info.param)) +
             "_ranks_" + std::string(name(std::get<2>(info.param)));
    });

// ---- By a library ----

class DeviceGradientsByLibrary
    : public ::testing::TestWithParam<std::tuple<Mode, int, RunOptions::Library>> {};

// Compares the results of each step.
void expect_alike(const std::vector<StepResult>& expected, const std::vector<StepResult>& found) {
  ASSERT_EQ(expected.size(), found.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(expected[i].ranks, found[i].ranks);
    EXPECT_EQ(expected[i].overflow, found[i].overflow) << "step " << i;
    if (std::isfinite(expected[i].norm) || std::isfinite(found[i].norm)) {
      EXPECT_NEAR(expected[i].norm, found[i].norm, 1e-6 * expected[i].norm) << "step " << i;
    }
  }
}

// Sums are exact, also in the short types. An average of three may be rounded differently.
TEST_P(DeviceGradientsByLibrary, AreThoseOfTheHost) {
  const auto [mode, ranks, library] = GetParam();
  struct Case {
    bool finds_overflow, computes_norm;
    Codec codec = Codec::kNone;
  };
  for (const Case& one :
       {Case{false, false}, Case{true, true}, Case{true, false}, Case{false, true},
        Case{true, true, Codec::kBf16}, Case{false, false, Codec::kFp16}}) {
    GradientOptions options{.is_average = one.finds_overflow,
                            .bucket_bytes = 6000,
                            .finds_overflow = one.finds_overflow,
                            .computes_norm = one.computes_norm,
                            .codec = one.codec,
                            .forces_codec = one.codec != Codec::kNone};
    for (const std::uint64_t seed : seeds(mode == Mode::kSimulation ? 2 : 1)) {
      RunOptions run{.mode = mode, .ranks = ranks, .seed = seed};
      std::vector<Outcome> on_host, on_device;
      Status status = train(run, options, on_host, one.finds_overflow);
      ASSERT_TRUE(status.ok()) << status.to_string();
      options.on_device = true;
      run.device_library = library;
      status = train(run, options, on_device, one.finds_overflow);
      options.on_device = false;
      ASSERT_TRUE(status.ok()) << status.to_string();
      for (std::size_t rank = 0; rank < on_host.size(); ++rank) {
        expect_near(on_host[rank].gradients, on_device[rank].gradients,
                    options.is_average && ranks == 3 ? 1e-6 : 0);
        expect_alike(on_host[rank].results, on_device[rank].results);
        if (one.finds_overflow) {
          EXPECT_EQ(on_device[rank].results[kOverflowStep].overflow,
                    (Overflow{.rank = ranks - 1, .parameter = kOverflowing}));
        }
        // The same bits on all ranks.
        for (std::size_t i = 0; i < on_device[rank].results.size(); ++i)
          EXPECT_EQ(std::bit_cast<std::uint64_t>(on_device[rank].results[i].norm),
                    std::bit_cast<std::uint64_t>(on_device[0].results[i].norm));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, DeviceGradientsByLibrary,
    ::testing::Combine(::testing::Values(Mode::kSimulation, Mode::kThreads, Mode::kDirectThreads),
                       ::testing::Values(1, 2, 3),
                       ::testing::Values(Library::kNccl, Library::kNcclWithoutRevoke)),
    [](const auto& info) {
      return name(std::get<0>(info.param)) + "_" + std::to_string(std::get<1>(info.param)) +
             (std::get<2>(info.param) == Library::kNccl ? "_ranks" : "_ranks_without_revoke");
    });

}  // namespace
}  // namespace paceline::testing
