// Counts beyond 2^31 elements: every operation with elements between 2 ranks, through shared memory
// and over TCP, compared to the last element. In full of arrays of 2^31 + 101 bytes; --quick makes
// one all-reduce.
//
//   counts_beyond_two_to_31 [--quick]
//
// It takes 14 GiB of memory; where fewer are free it cannot be tried.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>

#include "comm/base/clock.h"
#include "tests/harness/calls.h"
#include "tests/harness/plan_form.h"
#include "tests/harness/ranks.h"

namespace paceline::testing {
namespace {

constexpr std::size_t kCount = (std::size_t{1} << 31) + 101;
constexpr std::size_t kNeededKiB = std::size_t{14} << 20;
constexpr int kSkip = 77;

std::size_t available_kib() {
  std::ifstream memory("/proc/meminfo");
  std::string word;
  std::size_t kib = 0;
  while (memory >> word) {
    if (word == "MemAvailable:") memory >> kib;
  }
  return kib;
}

// False, after saying why, if it is wrong.
bool try_call(OperationKind kind, Mode mode) {
  const Call call{.kind = kind,
                  .count = count_of_call({.kind = kind, .ranks = 2}, kCount),
                  .type = DataType::kInt8,
                  .op = ReduceOp::kSum,
                  .root = 1,
                  .in_place = true};
  std::printf("%s, %s: ", signature_of(call, 2).to_string().c_str(), name(mode).c_str());
  std::fflush(stdout);
  const SystemClock clock;
  std::chrono::duration<double> taken{0};
  const Status status = run_ranks({.mode = mode, .ranks = 2, .segment_bytes = 1 << 18},
                                  [&](Communicator& world) -> Status {
                                    MadeCall made(call, 0, world.rank(), 2);
                                    if (Status met = world.barrier(); !met.ok()) return met;
                                    const TimePoint begin = clock.now();
                                    if (Status called = made.run(world); !called.ok())
                                      return called;
                                    if (world.rank() == 0) taken = clock.now() - begin;
                                    if (Status exact = made.verdict(); !exact.ok()) return exact;
                                    return world.close();
                                  });
  if (status.ok()) {
    std::printf("%.2f s\n", taken.count());
  } else {
    std::printf("FAILED: %s\n", status.to_string().c_str());
  }
  return status.ok();
}

int run(bool quick) {
  if (available_kib() < kNeededKiB) {
    std::printf("skipped: %zu MiB of memory are free, and it takes %zu\n", available_kib() >> 10,
                kNeededKiB >> 10);
    return kSkip;
  }
  int calls = 0;
  for (const Mode mode : {Mode::kDirectThreads, Mode::kThreads}) {
    for (const OperationKind kind : kOperationKinds) {
      if (!moves_elements(kind) || !is_of_all(kind) ||
          (quick && (calls > 0 || kind != OperationKind::kAllReduce)))
        continue;
      if (!try_call(kind, mode)) return 1;
      ++calls;
    }
  }
  std::printf("%d calls of %zu elements: all exact\n", calls, kCount);
  return 0;
}

}  // namespace
}  // namespace paceline::testing

int main(int argc, char** argv) {
  return paceline::testing::run(argc > 1 && std::string_view(argv[1]) == "--quick");
}
