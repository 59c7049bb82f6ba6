// Many communicators stand on one runtime: 1,000 by split on 4 ranks whose processes may have 256
// file descriptors. A split takes no descriptor and no thread. Each of 4 threads of a rank uses its
// own of them, in an order that a seed draws, the same on all ranks. An all-reduce of 4 bytes takes
// as long with 1,000 idle communicators as with none.
//
//   thousand_communicators [--quick]    starts its ranks by `paceline run`; --quick: 100 of them,
//                                       and no time is judged
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

#include <paceline/communicator.h>

#include "comm/base/clock.h"
#include "comm/base/random.h"
#include "comm/base/try.h"

namespace paceline::testing {
namespace {

constexpr int kRanks = 4, kThreads = 4;
constexpr rlim_t kDescriptors = 256;
constexpr double kMostRatio = 1.10;

struct Held {
  std::size_t descriptors = 0, threads = 0;
  bool operator==(const Held&) const = default;
};

std::size_t entries(const char* folder) {
  const std::filesystem::directory_iterator all(folder);
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

Held held() {
  return {.descriptors = entries("/proc/self/fd"), .threads = entries("/proc/self/task")};
}

Status wrong(const std::string& what) { return {Code::kInternal, Scope::kProcess, what}; }

// Microseconds of one: the median of groups.
Result<double> time_of_all_reduce(Communicator& world) {
  constexpr int kGroups = 21, kEach = 500;
  const SystemClock clock;
  std::vector<double> times;
  for (int group = 0; group < kGroups; ++group) {
    PACELINE_TRY(world.barrier());
    const TimePoint begin = clock.now();
    for (int i = 0; i < kEach; ++i) {
      float one = 1;
      PACELINE_TRY(world.all_reduce(std::span(&one, 1)));
    }
    times.push_back(std::chrono::duration<double, std::micro>(clock.now() - begin).count() / kEach);
  }
  std::nth_element(times.begin(), times.begin() + kGroups / 2, times.end());
  return times[kGroups / 2];
}

// A thread's share of the communicators, each a few times.
Status use(std::vector<Communicator>& all, int thread) {
  std::vector<Communicator*> own;
  for (std::size_t i = static_cast<std::size_t>(thread); i < all.size(); i += kThreads)
    own.push_back(&all[i]);
  Random random(static_cast<std::uint64_t>(thread));
  std::vector<int> values(4096);
  for (std::size_t turn = 0; turn < 4 * own.size(); ++turn) {
    Communicator& one = *own[random.below(own.size())];
    const std::size_t count = 1 + random.below(values.size());
    const auto add = static_cast<int>(random.below(1000));
    std::fill_n(values.begin(), count, one.rank() + add);
    PACELINE_TRY(one.all_reduce(std::span(values).first(count)));
    const int sum = one.size() * add + one.size() * (one.size() - 1) / 2;
    if (std::any_of(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count),
                    [sum](int value) { return value != sum; }))
      return wrong("a sum of thread " + std::to_string(thread) + " is wrong");
  }
  return {};
}

Status use_in_threads(std::vector<Communicator>& all) {
  std::array<Status, kThreads> ends;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] { ends[static_cast<std::size_t>(i)] = use(all, i); });
  for (std::thread& thread : threads) thread.join();
  for (const Status& end : ends) PACELINE_TRY(Status(end));
  return {};
}

Status be_a_rank(int communicators, bool judges_time) {
  const rlimit few{.rlim_cur = kDescriptors, .rlim_max = kDescriptors};
  if (::setrlimit(RLIMIT_NOFILE, &few) != 0) return wrong("cannot limit the descriptors");
  PACELINE_TRY_ASSIGN(Communicator world, Communicator::init());
  PACELINE_TRY(time_of_all_reduce(world).status());  // until the ranks have settled on their CPUs
  PACELINE_TRY_ASSIGN(const double alone, time_of_all_reduce(world));
  const Held before = held();
  const SystemClock clock;
  const TimePoint begin = clock.now();
  std::vector<Communicator> all;
  for (int i = 0; i < communicators; ++i) {
    // Of all, or of two halves, in one order or the other.
    const int color = i % 3 == 0 ? 0 : world.rank() % 2;
    PACELINE_TRY_ASSIGN(auto part, world.split(color, i % 2 == 0 ? world.rank() : -world.rank()));
    all.push_back(*std::move(part));
  }
  const double split_us =
      std::chrono::duration<double, std::micro>(clock.now() - begin).count() / communicators;
  const Held after = held();
  PACELINE_TRY_ASSIGN(const double beside, time_of_all_reduce(world));
  const double ratio = beside / alone;
  PACELINE_TRY(use_in_threads(all));
  if (!(after == before))
    return wrong("from " + std::to_string(before.descriptors) + " descriptors and " +
                 std::to_string(before.threads) + " threads to " +
                 std::to_string(after.descriptors) + " and " + std::to_string(after.threads));
  PACELINE_TRY(world.close());
  if (world.rank() == 0)
    std::printf(
        "%d communicators by split, %.0f us each, without a descriptor or thread of their own; "
        "all-reduce of 4 B %.2f us without them, %.2f with: %.2f times as long\n",
        communicators, split_us, alone, beside, ratio);
  if (judges_time && ratio > kMostRatio) return wrong("idle communicators cost time");
  return {};
}

}  // namespace
}  // namespace paceline::testing

int main(int argc, char** argv) {
  using namespace paceline::testing;
  const bool quick = argc > 1 && std::string_view(argv[1]) == "--quick";
  if (std::getenv("WORLD_SIZE") == nullptr) {
    const char* const build = std::getenv("PACELINE_BUILD");
    const std::string launcher = std::string(build != nullptr ? build : ".") + "/bin/paceline";
    const std::string ranks = std::to_string(kRanks);
    const std::string self = std::filesystem::read_symlink("/proc/self/exe");
    std::vector<const char*> words{"paceline", "run", "-n", ranks.c_str(), "--", self.c_str()};
    if (quick) words.push_back("--quick");
    words.push_back(nullptr);
    ::execv(launcher.c_str(), const_cast<char**>(words.data()));
    std::fprintf(stderr, "cannot run %s\n", launcher.c_str());
    return 1;
  }
  const paceline::Status status = be_a_rank(quick ? 100 : 1000, !quick);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return status.ok() ? 0 : 1;
}
