// The loop in which tests/figures/several_hosts times all-reduces of several libraries between
// hosts. `paceline bench --against` has one that knows more, on one host.
//
//   PROGRAM REPETITIONS BYTES…
//
// After each size rank 0 prints "times BYTES SECONDS…", of each repetition and operation, from a
// barrier to its own end. Each rank prints "cpu BYTES SECONDS": the CPU time of its process in all
// these repetitions together, per operation.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <vector>

#include <sys/resource.h>

#include "comm/base/clock.h"
#include "comm/base/function_ref.h"

namespace paceline::peers {

struct TimedLibrary {
  int rank = 0;
  int size = 1;
  FunctionRef<void()> barrier;
  /// In place, a sum.
  FunctionRef<void(std::span<float>)> all_reduce;
  bool reduces = true;  ///< else the result is not looked at
};

inline double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// One size. False: a sum is wrong.
inline bool time_size(const TimedLibrary& library, int repetitions, std::size_t bytes) {
  constexpr std::size_t kSmall = 8 * 1024;  // those are timed together, and rewritten in the clock
  const int together = bytes <= kSmall ? 200 : 1;
  std::vector<float> values(std::max<std::size_t>(bytes / sizeof(float), 1));
  const SystemClock clock;
  std::vector<double> times;
  double cpu = 0;
  for (int i = -1; i < repetitions; ++i) {  // the first makes connections
    std::ranges::fill(values, 1.0F);
    library.barrier();
    const double cpu_before = cpu_seconds();
    const TimePoint begin = clock.now();
    for (int call = 0; call < together; ++call) {
      if (call > 0) std::ranges::fill(values, 1.0F);
      library.all_reduce(values);
    }
    const std::chrono::duration<double> took = clock.now() - begin;
    const double cpu_took = cpu_seconds() - cpu_before;
    const auto sum = static_cast<float>(library.size);
    if (library.reduces && std::ranges::any_of(values, [sum](float x) { return x != sum; }))
      return false;
    if (i < 0) continue;
    times.push_back(took.count() / together);
    cpu += cpu_took / together;
  }
  if (library.rank == 0) {
    std::printf("times %zu", bytes);
    for (const double seconds : times) std::printf(" %.9f", seconds);
    std::puts("");
  }
  std::printf("cpu %zu %.9f\n", bytes, cpu / repetitions);
  std::fflush(stdout);
  return true;
}

/// The exit code of main().
inline int time_all_reduces(const TimedLibrary& library, int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s REPETITIONS BYTES…\n", argv[0]);
    return 2;
  }
  for (int i = 2; i < argc; ++i) {
    if (time_size(library, std::atoi(argv[1]), std::strtoull(argv[i], nullptr, 10))) continue;
    std::fprintf(stderr, "%s: a sum of %s bytes is wrong\n", argv[0], argv[i]);
    return 1;
  }
  return 0;
}

}  // namespace paceline::peers
