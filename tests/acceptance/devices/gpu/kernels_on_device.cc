// Kernels on the current GPU against the same source on the CPU, bit by bit, and how long each
// takes beside a copy in GPU memory. Run by kernels_have_the_bits_of_the_cpu.
//
//   kernels_on_device MIB
//
// Prints a JSON object for each kernel and for the copy, with bytes read and written and seconds.
// Exit code 77: there is no GPU, or the build has no kernels.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <dlfcn.h>

#include "collectives/gradient/kernels/halves.h"
#include "collectives/gradient/kernels/image.h"
#include "collectives/gradient/kernels/look.h"
#include "comm/base/clock.h"
#include "comm/base/random.h"
#include "comm/base/try.h"
#include "comm/device/process_devices.h"
#include "tests/harness/cpu_kernels.h"

namespace paceline::testing {
namespace {

constexpr int kSkipped = 77;
constexpr std::size_t kRanks = 4, kOwn = 1;
constexpr std::size_t kFindings = on_device::kBlocks * sizeof(on_device::Findings);
constexpr int kTimes = 10;

// As a program that uses the driver has it.
bool make_context_current() {
  void* const library = ::dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) return false;
  const auto init = reinterpret_cast<int (*)(unsigned)>(::dlsym(library, "cuInit"));
  const auto retain =
      reinterpret_cast<int (*)(void**, int)>(::dlsym(library, "cuDevicePrimaryCtxRetain"));
  const auto set = reinterpret_cast<int (*)(void*)>(::dlsym(library, "cuCtxSetCurrent"));
  void* context = nullptr;
  return init != nullptr && retain != nullptr && set != nullptr && init(0) == 0 &&
         retain(&context, 0) == 0 && set(context) == 0;
}

// The same bytes on the host and on the device.
struct Twin {
  std::vector<std::byte> host;
  std::byte* device = nullptr;
};

class Gpu {
 public:
  explicit Gpu(Device& device) : device_(device) {}
  Status open() {
    PACELINE_TRY_ASSIGN(stream_, device_.make_stream());
    PACELINE_TRY_ASSIGN(event_, device_.make_event());
    return {};
  }
  Result<Twin> twin(std::vector<std::byte> bytes) {
    Twin twin{.host = std::move(bytes)};
    PACELINE_TRY_ASSIGN(twin.device, device_.make_memory(twin.host.size()));
    PACELINE_TRY(device_.pin(twin.host));
    PACELINE_TRY(device_.copy_up(twin.device, twin.host.data(), twin.host.size(), stream_));
    PACELINE_TRY(wait());
    device_.unpin(twin.host);
    return twin;
  }
  Result<std::vector<std::byte>> read(const Twin& twin) {
    std::vector<std::byte> bytes(twin.host.size());
    PACELINE_TRY(device_.pin(bytes));
    PACELINE_TRY(device_.copy_down(bytes.data(), twin.device, bytes.size(), stream_));
    PACELINE_TRY(wait());
    device_.unpin(bytes);
    return bytes;
  }
  Status copy(const Twin& to, const Twin& from) {
    return device_.copy_within(to.device, from.device, from.host.size(), stream_);
  }
  Status launch(GradientKernel kernel, std::span<const std::byte> arguments) {
    return device_.launch(
        {.kernel = gradient_kernel(kernel), .blocks = on_device::kBlocks, .arguments = arguments},
        stream_);
  }
  Status wait() {
    PACELINE_TRY(device_.record(event_, stream_));
    const Deadline deadline = Deadline::after(clock_, std::chrono::minutes(1));
    for (bool has_passed = false; !has_passed;) {
      PACELINE_TRY_ASSIGN(has_passed, device_.has_passed(event_));
      if (deadline.passed(clock_.now()))
        return Status(Code::kTimeout, Scope::kProcess, "the GPU has not ended within a minute");
    }
    return {};
  }
  // The mean of some runs.
  template <class Enqueue>
  Result<double> seconds(const Enqueue& enqueue) {
    PACELINE_TRY(enqueue());
    PACELINE_TRY(wait());
    const TimePoint begin = clock_.now();
    for (int i = 0; i < kTimes; ++i) PACELINE_TRY(enqueue());
    PACELINE_TRY(wait());
    return std::chrono::duration<double>(clock_.now() - begin).count() / kTimes;
  }

 private:
  const SystemClock clock_;
  Device& device_;
  DeviceStream stream_ = nullptr;
  DeviceEvent event_ = nullptr;
};

void tell(const char* what, std::size_t bytes, double seconds) {
  std::printf("{\"kernel\": \"%s\", \"bytes\": %zu, \"seconds\": %.9f}\n", what, bytes, seconds);
  std::fflush(stdout);
}

// Arguments with addresses of the device, and the same with addresses of the host.
template <class Arguments>
struct Both {
  Arguments device{}, host{};
};

class Trial {
 public:
  Trial(Gpu& gpu, std::size_t count) : gpu_(gpu), count_(count) {
    const std::size_t shard = (count + 128 * kRanks - 1) / (128 * kRanks) * 128;
    slots_ = {.count = count, .shard = shard, .slot_bytes = 2 * shard};
  }

  Status run() {
    PACELINE_TRY_ASSIGN(elements_, gpu_.twin(random_floats()));
    PACELINE_TRY_ASSIGN(other_, gpu_.twin(elements_.host));
    PACELINE_TRY_ASSIGN(codes_, gpu_.twin(std::vector<std::byte>(kRanks * slots_.slot_bytes)));
    PACELINE_TRY_ASSIGN(sum_, gpu_.twin(std::vector<std::byte>(slots_.slot_bytes)));
    PACELINE_TRY_ASSIGN(findings_, gpu_.twin(std::vector<std::byte>(kFindings)));
    PACELINE_TRY_ASSIGN(const double copy_s,
                        gpu_.seconds([&] { return gpu_.copy(other_, elements_); }));
    tell("copy", 2 * elements_.host.size(), copy_s);
    PACELINE_TRY(look(GradientKernel::look_float32));
    PACELINE_TRY(look(GradientKernel::look_float64));
    PACELINE_TRY(look(GradientKernel::look_float16));
    PACELINE_TRY(look(GradientKernel::look_bfloat16));
    PACELINE_TRY(
        halves(GradientKernel::encode_bf16, GradientKernel::sum_bf16, GradientKernel::decode_bf16));
    return halves(GradientKernel::encode_fp16, GradientKernel::sum_fp16,
                  GradientKernel::decode_fp16);
  }

 private:
  // Floats of many magnitudes. Some are not finite.
  std::vector<std::byte> random_floats() const {
    Random random(7);
    std::vector<std::byte> bytes(count_ * sizeof(float));
    for (std::size_t i = 0; i < count_; ++i) {
      const auto bits = static_cast<std::uint32_t>(random.next());
      const std::uint32_t narrow = (bits & 0x83FFFFFF) | 0x38000000;
      const std::uint32_t chosen = i % 1000 == 999 ? bits : narrow;
      std::memcpy(&bytes[i * sizeof chosen], &chosen, sizeof chosen);
    }
    return bytes;
  }

  template <class Arguments>
  Status compare(GradientKernel kernel, const Both<Arguments>& arguments, std::size_t bytes,
                 std::initializer_list<Twin*> written) {
    const std::string name = gradient_kernel(kernel).name;
    const std::span<const std::byte> of_device = std::as_bytes(std::span(&arguments.device, 1));
    PACELINE_TRY(gpu_.launch(kernel, of_device));
    PACELINE_TRY(gpu_.wait());
    find_cpu_kernel(name)->run(&arguments.host, on_device::kBlocks);
    for (Twin* const twin : written) {
      PACELINE_TRY_ASSIGN(const std::vector<std::byte> found, gpu_.read(*twin));
      const auto differ = std::ranges::mismatch(found, twin->host);
      if (differ.in1 != found.end())
        return Status(Code::kInternal, Scope::kProcess,
                      name + " differs from the CPU in byte " +
                          std::to_string(differ.in1 - found.begin()) + " of " +
                          std::to_string(found.size()));
    }
    PACELINE_TRY_ASSIGN(const double seconds,
                        gpu_.seconds([&] { return gpu_.launch(kernel, of_device); }));
    tell(name.c_str(), bytes, seconds);
    return {};
  }

  on_device::Findings* findings(bool of_device) {
    return reinterpret_cast<on_device::Findings*>(of_device ? findings_.device
                                                            : findings_.host.data());
  }
  Status look(GradientKernel kernel) {
    Both<on_device::LookArguments> both;
    for (auto* const one : {&both.device, &both.host}) {
      const bool of_device = one == &both.device;
      *one = {.elements = of_device ? elements_.device : elements_.host.data(),
              .bytes = elements_.host.size(),
              .offset = 64,
              .findings = findings(of_device),
              .goes_on = 0};
    }
    return compare(kernel, both, elements_.host.size(), {&findings_});
  }
  Status halves(GradientKernel encode_kernel, GradientKernel sum_kernel,
                GradientKernel decode_kernel) {
    Both<on_device::EncodeArguments> encode;
    Both<on_device::SumArguments> sum;
    Both<on_device::DecodeArguments> decode;
    const auto fill = [&](bool of_device, auto& encodes, auto& sums, auto& decodes) {
      std::byte* const codes = of_device ? codes_.device : codes_.host.data();
      auto* const elements =
          reinterpret_cast<float*>(of_device ? elements_.device : elements_.host.data());
      encodes = {.slots = slots_,
                 .elements = elements,
                 .codes = codes,
                 .own = kOwn,
                 .offset = 0,
                 .findings = findings(of_device)};
      sums = {.slots = slots_,
              .elements = elements,
              .codes = codes,
              .own = kOwn,
              .ranks = kRanks,
              .divisor = 3,
              .sum = of_device ? sum_.device : sum_.host.data()};
      decodes = {
          .slots = slots_,
          .codes = codes,
          .elements = reinterpret_cast<float*>(of_device ? other_.device : other_.host.data()),
          .offset = 0,
          .findings = findings(of_device)};
    };
    fill(true, encode.device, sum.device, decode.device);
    fill(false, encode.host, sum.host, decode.host);
    const std::size_t bytes = count_ * sizeof(float), code_bytes = count_ * 2;
    PACELINE_TRY(compare(encode_kernel, encode, bytes + code_bytes, {&codes_, &findings_}));
    PACELINE_TRY(compare(sum_kernel, sum,
                         slots_.shard * sizeof(float) + (kRanks + 1) * slots_.slot_bytes, {&sum_}));
    return compare(decode_kernel, decode, code_bytes + bytes, {&other_, &findings_});
  }

  Gpu& gpu_;
  const std::size_t count_;
  on_device::Slots slots_{};
  Twin elements_, other_, codes_, sum_, findings_;
};

Status run(std::size_t mib) {
  PACELINE_TRY_ASSIGN(Devices* const devices, ProcessDevices::of_process().open());
  PACELINE_TRY_ASSIGN(Device* const device, devices->device_of_stream(nullptr));
  if (!has_gradient_kernels()) {
    std::puts("skipped: this build has no kernels for GPUs");
    std::exit(kSkipped);
  }
  PACELINE_TRY(load_gradient_kernels(*device));
  Gpu gpu(*device);
  PACELINE_TRY(gpu.open());
  // Not a multiple of what a lane takes at a time.
  return Trial(gpu, (mib << 20) / sizeof(float) - 1).run();
}

}  // namespace
}  // namespace paceline::testing

int main(int count, char** words) {
  const long mib = count == 2 ? std::atol(words[1]) : 0;
  if (mib <= 0) {
    std::fprintf(stderr, "usage: kernels_on_device MIB\n");
    return 2;
  }
  if (!paceline::testing::make_context_current()) {
    std::puts("skipped: there is no GPU that the CUDA driver can use");
    return paceline::testing::kSkipped;
  }
  const paceline::Status status = paceline::testing::run(static_cast<std::size_t>(mib));
  if (!status.ok()) std::fprintf(stderr, "FAILED: %s\n", status.text().c_str());
  return status.ok() ? 0 : 1;
}
