// Operations on device memory are exact: over operation, type, op, count, ranks, in place or not,
// C++, C and groups in C, simulated, over TCP, by the direct backend, and on two hosts, each
// through host memory and by a stand-in of NCCL. In full the product of all with 5 seeds of
// lateness;
// --quick a random choice.
//
//   operations_on_device_memory_are_exact [--quick]
//
// Each rank has fake devices (tests/harness/fake_device.h). The CPU cannot address their memory, so
// a call that does so kills the program. Slots have 1 KiB, so most calls need several rounds.
#include <cstdio>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "collectives/c_interface/calls.h"
#include "comm/base/random.h"
#include "comm/base/try.h"
#include "tests/harness/calls_in_c.h"
#include "tests/harness/plan_form.h"
#include "tests/harness/ranks.h"

namespace paceline::testing {
namespace {

enum class Manner { kCpp, kC, kGroupInC };
constexpr Manner kManners[] = {Manner::kCpp, Manner::kC, Manner::kGroupInC};
constexpr Mode kDeviceModes[] = {Mode::kSimulation, Mode::kThreads, Mode::kDirectThreads,
                                 Mode::kCompositeThreads};
constexpr int kRanks[] = {1, 2, 3, 5, 8};
constexpr std::size_t kCounts[] = {0, 1, 101, 1000, 5021};

struct Case {
  Call call;
  Manner manner = Manner::kCpp;
};

// All cases of one world, in the same order on each rank.
std::vector<Case> cases_of(int ranks) {
  std::vector<Case> cases;
  for (const OperationKind kind : kOperationKinds) {
    if (kind == OperationKind::kClose || !is_of_all(kind) || !moves_elements(kind)) continue;
    for (const DataType type : kDataTypes) {
      for (const ReduceOp op : kReduceOps) {
        if (!reduces(kind) && op != ReduceOp::kSum) continue;
        for (const std::size_t count : kCounts) {
          for (const bool in_place : {false, true}) {
            for (const Manner manner : kManners) {
              const std::size_t number = cases.size();
              const std::size_t own = count_of_call({.kind = kind, .ranks = ranks}, count);
              cases.push_back({.call = {.kind = kind,
                                        .count = own,
                                        .type = type,
                                        .op = op,
                                        .root = static_cast<int>(number) % ranks,
                                        .asynchronous = number % 3 == 0,
                                        .in_place = in_place},
                               .manner = manner});
            }
          }
        }
      }
    }
  }
  return cases;
}

Status make_in_c(plComm& comm, const Case& one, MadeCall& made) {
  const bool is_group = one.manner == Manner::kGroupInC;
  if (is_group) plGroupStart();
  const plResult_t called = call_in_c(&comm, one.call, made);
  const plResult_t ended = is_group ? plGroupEnd() : plSuccess;
  // The calls return when the device has got all of them.
  PACELINE_TRY(comm.communicator.barrier());
  one.call.device->run_all();
  if (called == plSuccess && ended == plSuccess) return made.verdict();
  return wrong(plGetLastError(&comm));
}

// `part`: one of so many cases, at random. Returns how many were made.
Status make_all(Communicator& joined, std::uint64_t seed, std::uint64_t part, std::size_t& calls) {
  FakeDevice& device = devices_of(joined).device(0);
  Random random(seed);
  plComm comm(std::move(joined));
  Communicator& world = comm.communicator;
  std::size_t number = 0;
  for (Case one : cases_of(world.size())) {
    ++number;
    if (random.below(part) != 0) continue;
    one.call.device = &device;
    // A group is open when an op of it is freed.
    if (one.call.op == ReduceOp::kPreMulSum && one.manner == Manner::kGroupInC)
      one.manner = Manner::kC;
    MadeCall made(one.call, number, world.rank(), world.size());
    PACELINE_TRY(one.manner == Manner::kCpp ? made.check(world) : make_in_c(comm, one, made));
    ++calls;
  }
  PACELINE_TRY(world.close());
  const std::string broken = device.broken();
  return broken.empty() ? Status() : wrong(broken);
}

using Library = RunOptions::Library;

const char* name_of(Library library) {
  return library == Library::kNone ? "through host memory" : "by NCCL";
}

std::vector<std::tuple<Mode, int, Library>> worlds_to_run() {
  std::vector<std::tuple<Mode, int, Library>> worlds;
  for (const Mode mode : kDeviceModes)
    for (const int ranks : kRanks)
      for (const Library library : {Library::kNone, Library::kNccl})
        worlds.emplace_back(mode, ranks, library);
  return worlds;
}

int run(bool quick) {
  std::size_t all = 0;
  std::size_t worlds = 0;
  for (const auto& [mode, ranks, library] : worlds_to_run()) {
    for (const std::uint64_t seed : seeds(mode == Mode::kSimulation && !quick ? 5 : 1)) {
      std::vector<std::size_t> calls(static_cast<std::size_t>(ranks));
      const Status status = run_ranks({.mode = mode,
                                       .ranks = ranks,
                                       .seed = seed,
                                       .segment_bytes = 512,
                                       .timeout = std::chrono::minutes(5),
                                       .devices = 1,
                                       .device_library = library,
                                       .device_slot_bytes = 1024},
                                      [&](Communicator& world) {
                                        std::size_t& own =
                                            calls[static_cast<std::size_t>(world.rank())];
                                        return make_all(world, seed, quick ? 30 : 1, own);
                                      });
      if (!status.ok()) {
        std::printf("FAILED: %s, %d ranks, %s: %s\n", name(mode).c_str(), ranks, name_of(library),
                    status.to_string().c_str());
        return 1;
      }
      all += calls.front();
      ++worlds;
    }
    std::printf("- %s, %d ranks, %s\n", name(mode).c_str(), ranks, name_of(library));
    std::fflush(stdout);
  }
  std::printf("%zu calls on device memory in %zu worlds of 1 to 8 ranks: all exact\n", all, worlds);
  return 0;
}

}  // namespace
}  // namespace paceline::testing

int main(int argc, char** argv) {
  return paceline::testing::run(argc > 1 && std::string_view(argv[1]) == "--quick");
}
