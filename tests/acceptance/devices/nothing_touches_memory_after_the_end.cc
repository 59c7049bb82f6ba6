// After an operation on device memory has ended, well or with an error, nothing reads or writes its
// memory. 500 simulated worlds, each with a failure at a random time: an abort, a cancelled
// operation, a rank that leaves, a device that fails, a stream that gets stuck, or host memory that
// cannot be pinned. A third of them use host memory, a third a stand-in of NCCL, and a third one
// that lacks ncclCommRevoke.
//
//   nothing_touches_memory_after_the_end [--quick]
//
// A rank frees the memory of an operation as soon as that has ended, then lets its device run all
// that it still has. The device keeps the first touch of memory that is not allocated.
#include <array>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "comm/base/random.h"
#include "comm/base/try.h"
#include "tests/harness/calls.h"
#include "tests/harness/ranks.h"

namespace paceline::testing {
namespace {

enum class Failure { kAbort, kCancel, kLeave, kDevice, kStream, kPin };
constexpr std::array kFailures{Failure::kAbort,  Failure::kCancel, Failure::kLeave,
                               Failure::kDevice, Failure::kStream, Failure::kPin};
constexpr std::array<const char*, kFailures.size()> kNames{"an abort",
                                                           "a cancelled operation",
                                                           "a rank that leaves",
                                                           "a device that fails",
                                                           "a stream that gets stuck",
                                                           "memory that cannot be pinned"};
constexpr int kRanks = 3;
constexpr std::size_t kCalls = 6;

using Made = std::vector<std::unique_ptr<MadeCall>>;

void start_calls(Communicator& world, FakeDevice& device, std::size_t calls, Made& made) {
  for (std::size_t number = 0; number < calls; ++number) {
    const Call call{.kind = number % 2 == 0 ? OperationKind::kAllReduce : OperationKind::kAllGather,
                    .count = 150 * number + 1,
                    .in_place = number % 3 == 0,
                    .device = &device};
    made.push_back(std::make_unique<MadeCall>(call, number, world.rank(), world.size()));
    made.back()->start(world);
  }
}

// The victim does this some time after its calls.
void strike(Communicator& world, FakeDevice& device, Failure failure, Made& made, Random& random) {
  (void)made[random.below(made.size())]->work().wait_for(
      std::chrono::microseconds(random.below(300)));
  if (failure == Failure::kAbort) world.abort();
  if (failure == Failure::kCancel) made[random.below(made.size())]->work().cancel();
  if (failure == Failure::kDevice) device.fail();
  if (failure == Failure::kPin) device.refuse_pins();
}

// One round, which is longer than a slot.
void start_long_call(Communicator& world, FakeDevice& device, Made& made) {
  const Call call{.kind = OperationKind::kAllToAllV, .count = 2000, .device = &device};
  made.push_back(std::make_unique<MadeCall>(call, kCalls, world.rank(), world.size()));
  made.back()->start(world);
}

Status body(Communicator& world, std::uint64_t seed, Failure failure) {
  FakeDevice& device = devices_of(world).device(0);
  Random random(seed * kRanks + static_cast<std::uint64_t>(world.rank()));
  const bool is_victim = world.rank() == static_cast<int>(seed % kRanks);
  DeviceStream stream = nullptr;
  if (is_victim && failure == Failure::kStream) {
    PACELINE_TRY_ASSIGN(stream, device.make_stream());
    world.set_stream(stream);
    device.hold(stream);
    device.launch(stream, [] {});
  }
  Made made;
  const bool leaves = is_victim && failure == Failure::kLeave;
  start_calls(world, device, leaves ? random.below(kCalls) : kCalls, made);
  if (is_victim && !leaves && failure != Failure::kStream)
    strike(world, device, failure, made, random);
  if (failure == Failure::kPin) start_long_call(world, device, made);
  if (leaves) {
    const Communicator left = std::move(world);
  }
  for (std::unique_ptr<MadeCall>& one : made) {
    const Status ended = one->wait();
    if (ended.ok()) PACELINE_TRY(one->verdict());
    // A copy that waits for a stuck stream reads later than that: docs/devices.md.
    if (stream == nullptr) one.reset();
  }
  if (stream != nullptr) device.release(stream);
  device.run_all();
  const std::string broken = device.broken();
  return broken.empty() ? Status() : wrong(broken);
}

constexpr std::array kLibraries{RunOptions::Library::kNone, RunOptions::Library::kNccl,
                                RunOptions::Library::kNcclWithoutRevoke};

int run(bool quick) {
  const std::uint64_t worlds = quick ? 50 : 500;
  std::array<int, kFailures.size()> of_kind{};
  for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
    const std::size_t kind = seed % kFailures.size();
    const RunOptions::Library library = kLibraries[seed / kFailures.size() % kLibraries.size()];
    // Without that call, NCCL is stopped by a thread, which does not go by virtual time.
    const Mode mode =
        library == RunOptions::Library::kNcclWithoutRevoke ? Mode::kThreads : Mode::kSimulation;
    const Status status =
        run_ranks({.mode = mode,
                   .ranks = kRanks,
                   .seed = seed,
                   .segment_bytes = 512,
                   .timeout = std::chrono::milliseconds(500),
                   .devices = 1,
                   .device_library = library,
                   .device_slot_bytes = 1024},
                  [&](Communicator& world) { return body(world, seed, kFailures[kind]); });
    if (!status.ok()) {
      std::printf("FAILED: seed %llu, %s: %s\n", static_cast<unsigned long long>(seed),
                  kNames[kind], status.to_string().c_str());
      return 1;
    }
    ++of_kind[kind];
  }
  for (std::size_t kind = 0; kind < kFailures.size(); ++kind)
    std::printf("- %s: %d worlds\n", kNames[kind], of_kind[kind]);
  std::printf("nothing touched freed device memory in %llu worlds\n",
              static_cast<unsigned long long>(worlds));
  return 0;
}

}  // namespace
}  // namespace paceline::testing

int main(int argc, char** argv) {
  return paceline::testing::run(argc > 1 && std::string_view(argv[1]) == "--quick");
}
