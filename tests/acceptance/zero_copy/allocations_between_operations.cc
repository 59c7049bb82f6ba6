// 10,000 allocations and frees of random sizes with operations between: 3 processes make and free
// buffers, each in an order of its own, and call operations on what they happen to have, some of it
// in no buffer, some at odd addresses. Every result is exact, no buffer's contents change but by
// the operations on it, and in the end each process has given back what it took: nothing is
// allocated, no more is there than what is kept, which has its bound, and a buffer that is as long
// as all of them could be is to be had.
//
//   allocations_between_operations [--quick] [--seed N]
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <paceline/buffer.h>
#include <paceline/communicator.h>

#include "comm/base/assert.h"
#include "comm/base/clock.h"
#include "comm/base/random.h"
#include "comm/base/try.h"
#include "comm/memory_domain.h"
#include "tests/acceptance/zero_copy/options.h"
#include "tests/harness/calls.h"

namespace paceline::testing {
namespace {

using std::chrono::seconds;

constexpr int kRanks = 3;
constexpr seconds kPatience{60};
constexpr std::size_t kMostLive = 24;
constexpr std::size_t kMostDoublings = 22;  // of a buffer: 4 MiB

struct Shared {
  std::array<std::byte, UniqueId::kBytes> id{};
  std::atomic<bool> has_id{false};
  std::atomic<std::uint64_t> allocations{0}, frees{0}, calls{0};
};

bool await(const std::function<bool()>& condition) {
  const SystemClock clock;
  const Deadline deadline = Deadline::after(clock, kPatience);
  const timespec moment{.tv_sec = 0, .tv_nsec = 1'000'000};
  while (!condition()) {
    if (deadline.passed(clock.now())) return false;
    ::ppoll(nullptr, 0, &moment, nullptr);
  }
  return true;
}

Status wrong(const std::string& what) { return Status(Code::kInternal, Scope::kOperation, what); }

// Of the arena's file, which has only what is allocated or kept.
std::size_t bytes_there(int file) {
  struct stat found {};
  PACELINE_ASSERT(::fstat(file, &found) == 0);
  return static_cast<std::size_t>(found.st_blocks) * 512;
}

// The same on all ranks. Short ones, some around the page and the piece, and a few long ones.
Call call_of(Random& random) {
  constexpr OperationKind kKinds[] = {OperationKind::kAllReduce,     OperationKind::kAllReduce,
                                      OperationKind::kReduceScatter, OperationKind::kAllGather,
                                      OperationKind::kAllToAll,      OperationKind::kBroadcast,
                                      OperationKind::kExchange};
  Call call{.kind = kKinds[random.below(std::size(kKinds))]};
  call.count = 1 + random.below(std::uint64_t{1} << random.below(18));
  call.root = static_cast<int>(random.below(kRanks));
  call.asynchronous = random.chance(0.3);
  call.in_place = random.chance(0.5);
  call.registered = random.chance(0.9);
  return call;
}

// What one rank has, each filled with a byte of its own.
class Holdings {
 public:
  explicit Holdings(std::uint64_t seed) : random_(seed) {}

  // An allocation or a free.
  Status change() {
    if (live_.size() >= kMostLive || (!live_.empty() && random_.chance(0.45))) {
      const std::size_t which = random_.below(live_.size());
      std::swap(live_[which], live_.back());
      const Status status = look_at(live_.back());
      live_.pop_back();
      ++frees_;
      return status;
    }
    const std::size_t bytes = 1 + random_.below(std::uint64_t{1} << random_.below(kMostDoublings));
    auto made = Buffer::allocate(bytes);
    if (!made.ok()) return made.status();
    live_.push_back({*std::move(made), static_cast<std::byte>(random_.below(256))});
    std::fill_n(live_.back().buffer.data(), bytes, live_.back().value);
    ++allocations_;
    return {};
  }
  Status free_all() {
    for (const Held& held : live_) PACELINE_TRY(look_at(held));
    frees_ += live_.size();
    live_.clear();
    return {};
  }
  std::uint64_t allocations() const { return allocations_; }
  std::uint64_t frees() const { return frees_; }

 private:
  struct Held {
    Buffer buffer;
    std::byte value;
  };
  static Status look_at(const Held& held) {
    const std::byte* const end = held.buffer.data() + held.buffer.size();
    const bool intact = std::all_of(static_cast<const std::byte*>(held.buffer.data()), end,
                                    [&](std::byte each) { return each == held.value; });
    return intact ? Status() : wrong("a buffer that no operation was given has changed");
  }

  Random random_;
  std::vector<Held> live_;
  std::uint64_t allocations_ = 0, frees_ = 0;
};

// Nothing is left but what is kept for the next.
Status look_at_the_end() {
  MemoryDomain& domain = MemoryDomain::of_process();
  const MemoryDomain::Use use = domain.use();
  if (use.allocated_bytes != 0)
    return wrong(std::to_string(use.allocated_bytes) + " bytes are still allocated");
  if (use.kept_bytes > MemoryDomain::kMostKept)
    return wrong(std::to_string(use.kept_bytes) + " bytes are kept");
  if (use.left_bytes != 0)
    return wrong(std::to_string(use.left_bytes) +
                 " bytes were left behind, and nothing had failed");
  // A page more at each end where the system's own are longer.
  PACELINE_TRY_ASSIGN(const int file, domain.file());
  const std::size_t most = use.kept_bytes + kMostLive * 2 * MemoryDomain::kHugePage;
  if (bytes_there(file) > most)
    return wrong(std::to_string(bytes_there(file)) + " bytes are there, and " +
                 std::to_string(use.kept_bytes) + " are kept");
  auto whole = Buffer::allocate(kMostLive << kMostDoublings);
  return whole.status();
}

Status join_and_play(int rank, std::uint64_t seed, std::uint64_t changes, Shared& shared) {
  UniqueId id;
  if (rank == 0) {
    id = make_unique_id().value();
    shared.id = id.bytes;
    shared.has_id = true;
  }
  if (!await([&] { return shared.has_id.load(); })) return wrong("there is no id");
  id.bytes = shared.id;
  PACELINE_TRY_ASSIGN(Communicator world,
                      Communicator::init(id, rank, kRanks, {.timeout_ms = kPatience}));
  Random calls(seed);
  Holdings holdings(seed + static_cast<std::uint64_t>(rank) + 1);
  for (std::uint64_t number = 0; number < changes / 4; ++number) {
    for (int i = 0; i < 4; ++i) PACELINE_TRY(holdings.change());
    // It makes its arrays and frees them; while it runs in the background others come and go.
    MadeCall made(call_of(calls), number, rank, kRanks);
    PACELINE_TRY(made.check(world));
    ++shared.calls;
  }
  PACELINE_TRY(holdings.free_all());
  shared.allocations += holdings.allocations();
  shared.frees += holdings.frees();
  PACELINE_TRY(world.close());
  return look_at_the_end();
}

bool play(int rank, std::uint64_t seed, std::uint64_t changes, Shared& shared) {
  const Status status = join_and_play(rank, seed, changes, shared);
  if (status.ok()) return true;
  std::printf("seed %llu, rank %d: %s\n", static_cast<unsigned long long>(seed), rank,
              status.to_string().c_str());
  std::fflush(nullptr);
  return false;
}

int run(std::uint64_t seed, std::uint64_t changes) {
  void* const memory =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  PACELINE_ASSERT(memory != MAP_FAILED);
  Shared& shared = *new (memory) Shared;
  std::vector<pid_t> ranks;
  for (int rank = 0; rank < kRanks; ++rank) {
    const pid_t pid = ::fork();
    PACELINE_ASSERT(pid >= 0);
    if (pid == 0) ::_exit(play(rank, seed, changes, shared) ? 0 : 1);
    ranks.push_back(pid);
  }
  int bad = 0;
  for (const pid_t pid : ranks) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    bad += WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : 1;
  }
  std::printf(
      "%llu allocations and %llu frees of %d ranks between %llu operations: "
      "%d ranks not as promised\n",
      static_cast<unsigned long long>(shared.allocations),
      static_cast<unsigned long long>(shared.frees), kRanks,
      static_cast<unsigned long long>(shared.calls / kRanks), bad);
  return bad == 0 ? 0 : 1;
}

}  // namespace
}  // namespace paceline::testing

int main(int argc, char** argv) {
  using namespace paceline::testing;
  const auto options = read_options(argc, argv, "allocations_between_operations", "--seed");
  if (!options) return 2;
  const std::uint64_t seed = options->value ? std::strtoull(options->value, nullptr, 10) : 1;
  // Of each rank, beside those of the operations' own arrays.
  return run(seed, options->quick ? 10'000 : 100'000);
}
