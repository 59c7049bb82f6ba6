// Communicators come and go by the thousand and leave nothing behind: worlds of three threads that
// meet by an id, through shared memory and over TCP, split in two, used, and then closed, aborted,
// or just destroyed. Descriptors and threads are as many at the end as after the first tenth, and
// no more names stay in /dev/shm; mappings and memory may have grown by what an allocator keeps.
//
//   communicators_by_the_thousand [--quick]
#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <poll.h>
#include <unistd.h>

#include <paceline/communicator.h>

#include "comm/base/clock.h"
#include "comm/base/try.h"

namespace paceline::testing {
namespace {

constexpr int kRanks = 3;
constexpr InitOptions kOptions{.timeout_ms = std::chrono::seconds(30)};
constexpr const char* kBackends[] = {"auto", "tcp", "shm"};

using Names = std::set<std::string>;

struct Held {
  std::size_t descriptors = 0;
  std::size_t threads = 0;
  Names shared_names;
  std::size_t mappings = 0;
  std::size_t resident_kib = 0;
};

std::size_t entries(const char* folder) {
  const std::filesystem::directory_iterator all(folder);
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

Names names_in_shared_memory() {
  Names names;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm"))
    if (const std::string name = entry.path().filename(); name.starts_with("paceline-"))
      names.insert(name);
  return names;
}

// Names that are not in `before` and stay. Other processes have names for a moment.
Names new_names_that_stay(const Names& before) {
  Names left = names_in_shared_memory();
  std::erase_if(left, [&before](const std::string& name) { return before.contains(name); });
  for (int i = 0; i < 20 && !left.empty(); ++i) {
    ::poll(nullptr, 0, 250);
    const Names now = names_in_shared_memory();
    std::erase_if(left, [&now](const std::string& name) { return !now.contains(name); });
  }
  return left;
}

// The kernel lists a thread for a moment after it has been joined: the fewest that are seen.
std::size_t lasting_threads() {
  const SystemClock clock;
  const Deadline deadline = Deadline::after(clock, std::chrono::milliseconds(20));
  std::size_t fewest = entries("/proc/self/task");
  while (!deadline.passed(clock.now())) {
    std::this_thread::yield();
    fewest = std::min(fewest, entries("/proc/self/task"));
  }
  return fewest;
}

Held held() {
  Held now{.descriptors = entries("/proc/self/fd"),
           .threads = lasting_threads(),
           .shared_names = names_in_shared_memory()};
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) ++now.mappings;
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> pages;
  now.resident_kib = pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) / 1024;
  return now;
}

Status expect_sum(Communicator& communicator) {
  int sum = 1;
  PACELINE_TRY(communicator.all_reduce(std::span(&sum, 1)));
  if (sum == communicator.size()) return {};
  return Status(Code::kInternal, Scope::kOperation, "the sum is " + std::to_string(sum));
}

// A world, its parts, and one of the ways in which they end.
Status come_and_go(const UniqueId& id, int rank, int round) {
  PACELINE_TRY_ASSIGN(Communicator world, Communicator::init(id, rank, kRanks, kOptions));
  PACELINE_TRY_ASSIGN(std::optional<Communicator> part, world.split(rank % 2, -rank));
  PACELINE_TRY(expect_sum(*part));
  PACELINE_TRY(expect_sum(world));
  switch (round % 3) {
    case 0:
      PACELINE_TRY(part->close());
      return world.close();
    case 1:
      part->abort();
      return world.close();
    default:
      part.reset();
      return world.barrier();
  }
}

void print(const char* when, const Held& now) {
  std::printf("%-16s %zu descriptors, %zu threads, %zu names, %zu mappings, %zu KiB\n", when,
              now.descriptors, now.threads, now.shared_names.size(), now.mappings,
              now.resident_kib);
  std::fflush(stdout);
}

int run(int rounds) {
  Result<UniqueId> id = Status(Code::kInternal, Scope::kProcess, "there was no round");
  Status failure;
  std::mutex mutex;  // guards failure
  Held warm, last;
  std::barrier meet(kRanks);
  const int warm_up = rounds / 10;
  const SystemClock clock;
  const TimePoint begin = clock.now();
  const auto rank_of = [&](int rank) {
    for (int round = 0; round < rounds; ++round) {
      if (rank == 0) {
        if (round == warm_up) print("after a tenth:", warm = held());
        ::setenv("PACELINE_BACKEND", kBackends[round / 3 % 3], 1);
        id = make_unique_id();
      }
      meet.arrive_and_wait();
      const Status status = id.ok() ? come_and_go(*id, rank, round) : id.status();
      if (!status.ok()) {
        const std::lock_guard lock(mutex);
        failure = status.with_context("round " + std::to_string(round));
      }
      meet.arrive_and_wait();  // all communicators are gone
      if (!failure.ok()) return;
    }
    if (rank == 0) print("at the end:", last = held());
    meet.arrive_and_wait();
  };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank) threads.emplace_back(rank_of, rank);
  for (std::thread& thread : threads) thread.join();
  if (!failure.ok()) {
    std::printf("FAILED: %s\n", failure.to_string().c_str());
    return 1;
  }
  const bool good = last.descriptors == warm.descriptors && last.threads == warm.threads &&
                    new_names_that_stay(warm.shared_names).empty() &&
                    last.mappings <= warm.mappings + 16 &&
                    last.resident_kib <= warm.resident_kib + 4096;
  std::printf("%d communicators of %d worlds in %.1f s: %s\n", 2 * kRanks * rounds, rounds,
              std::chrono::duration<double>(clock.now() - begin).count(),
              good ? "nothing is left" : "SOMETHING IS LEFT");
  return good ? 0 : 1;
}

}  // namespace
}  // namespace paceline::testing

int main(int argc, char** argv) {
  const bool quick = argc == 2 && std::string_view(argv[1]) == "--quick";
  if (argc > 1 && !quick) {
    std::fprintf(stderr, "usage: %s [--quick]\n", argv[0]);
    return 2;
  }
  return paceline::testing::run(quick ? 150 : 2000);
}
