// Seeded schedules of a head and its agents, in virtual time: starts, ends, failures, lost and
// silent agents, signals, late and doubled messages. Each job must end, with an exit code, a
// culprit and a cleanup by the rules of simulation/rules.cc. Then one job of 1,000 hosts.
//
//   schedules_end_by_the_rules [--quick]      --quick: 2,000 schedules instead of 10,000
//   schedules_end_by_the_rules --seed N       shows what happens in one schedule
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

#include <sys/resource.h>

#include "comm/base/clock.h"
#include "tests/acceptance/job/simulation/simulated_job.h"

namespace paceline::launcher::testing {
namespace {

// Returns the broken rule.
std::string run_seed(std::uint64_t seed, bool shows, std::map<int, int>* exit_codes) {
  Random random(seed);
  const Plan plan = drawn_plan(random);
  SimulatedJob job(plan, random.next(), [shows](const std::string& line) {
    if (shows) std::printf("%s\n", line.c_str());
  });
  std::string broken = job.run();
  if (exit_codes != nullptr) ++(*exit_codes)[job.exit_code()];
  return broken;
}

long peak_memory_kib() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

int run(std::uint64_t schedules) {
  std::map<int, int> exit_codes;
  for (std::uint64_t seed = 1; seed <= schedules; ++seed) {
    const std::string broken = run_seed(seed, false, &exit_codes);
    if (broken.empty()) continue;
    std::printf("schedule %llu: %s\nschedules_end_by_the_rules --seed %llu shows it\n",
                static_cast<unsigned long long>(seed), broken.c_str(),
                static_cast<unsigned long long>(seed));
    return 1;
  }
  for (const auto& [code, count] : exit_codes) std::printf("exit code %3d: %d\n", code, count);

  const long before_kib = peak_memory_kib();
  const SystemClock clock;
  const TimePoint begin = clock.now();
  SimulatedJob large({.hosts = 1000, .ranks_per_host = 8, .mishaps = {Mishap::kRankFails}}, 1, {});
  const std::string broken = large.run();
  if (!broken.empty()) {
    std::printf("1,000 hosts: %s\n", broken.c_str());
    return 1;
  }
  const double seconds = std::chrono::duration<double>(clock.now() - begin).count();
  std::printf(
      "%llu schedules ended by the rules; 1,000 hosts with 8 ranks each: %zu events in "
      "%.2f s, %ld MiB\n",
      static_cast<unsigned long long>(schedules), large.events(), seconds,
      (peak_memory_kib() - before_kib) / 1024);
  return 0;
}

}  // namespace
}  // namespace paceline::launcher::testing

int main(int argc, char** argv) {
  using namespace paceline::launcher::testing;
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first == "--seed" && argc == 3) {
    const std::string broken = run_seed(std::strtoull(argv[2], nullptr, 10), true, nullptr);
    std::printf("%s\n", broken.empty() ? "it ended by the rules" : broken.c_str());
    return broken.empty() ? 0 : 1;
  }
  if (argc > 2 || (argc == 2 && first != "--quick")) {
    std::fputs("usage: schedules_end_by_the_rules [--quick | --seed N]\n", stderr);
    return 2;
  }
  return run(first == "--quick" ? 2000 : 10000);
}
