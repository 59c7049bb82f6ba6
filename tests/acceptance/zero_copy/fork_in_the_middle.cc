// A process forks while one of its threads is in the middle of operations on buffers and another
// makes and frees some. The child has the buffers as private memory: what it writes there reaches
// nobody, nothing of an arena is shared with it, it can make none, and freeing one does nothing.
// However it ends, by
// _exit(), by exit() with the destructors of a communicator and of buffers, or by executing a
// program, which can make buffers, the operations of its parent go on and are right. At last the
// parent is killed while a child of it lives: the other rank hears of it in bounded time.
//
//   fork_in_the_middle [--quick]
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <paceline/buffer.h>
#include <paceline/communicator.h>

#include "comm/base/assert.h"
#include "comm/base/clock.h"
#include "tests/acceptance/zero_copy/options.h"

namespace paceline::testing {
namespace {

using std::chrono::seconds;

constexpr std::size_t kCount = 500'003;  // of float32
constexpr seconds kPatience{30};
constexpr const char* kExecuted = "--executed";

enum class End { kWrites, kSharesNone, kMakesNone, kLeavesAtOnce, kExits, kExecutes };
constexpr const char* kEnds[] = {"writes to a buffer",
                                 "looks for what is shared",
                                 "asks for a buffer",
                                 "ends itself at once",
                                 "exits",
                                 "executes a program"};

// Destroyed by exit(), in a child, too.
struct Everything {
  std::optional<Communicator> world;
  Buffer data;
};
Everything& everything() {
  static Everything all;
  return all;
}

struct Shared {
  std::array<std::byte, UniqueId::kBytes> id{};
  std::atomic<bool> has_id{false};
  std::atomic<std::uint64_t> operations{0};  // that rank 0 has ended
  std::atomic<int> bad{0};                   // children, and results
  std::atomic<bool> noticed{false};          // by rank 1, that rank 0 was killed
};

void complain(const std::string& what) { std::printf("%s\n", what.c_str()); }

bool await(const std::function<bool()>& condition, Duration patience = kPatience) {
  const SystemClock clock;
  const Deadline deadline = Deadline::after(clock, patience);
  const timespec moment{.tv_sec = 0, .tv_nsec = 200'000};
  while (!condition()) {
    if (deadline.passed(clock.now())) return false;
    ::ppoll(nullptr, 0, &moment, nullptr);
  }
  return true;
}

// As shared memory, of this process or of a peer.
bool shares_an_arena() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find("paceline-buffers") != std::string::npos &&
        line.find("rw-s") != std::string::npos)
      return true;
  return false;
}

// ---- A child ----

[[noreturn]] void be_a_child(End end) {
  const Buffer& data = everything().data;
  switch (end) {
    case End::kWrites: {
      const std::span<float> elements = data.as<float>();
      for (const float one : elements)
        if (!(one >= 0 && one < 300)) ::_exit(1);  // as reduce_once() makes them
      std::ranges::fill(elements, -1.0F);          // which would be wrong in every result
      ::_exit(0);
    }
    case End::kSharesNone:
      ::_exit(shares_an_arena() ? 1 : 0);
    case End::kMakesNone: {
      everything().data = Buffer();
      const bool refused = Buffer::allocate(100).status().code() == Code::kInvalidArgument;
      ::_exit(refused ? 0 : 1);
    }
    case End::kLeavesAtOnce:
      ::_exit(0);
    case End::kExits:
      std::exit(0);
    case End::kExecutes:
      ::execl("/proc/self/exe", "fork_in_the_middle", kExecuted, nullptr);
      ::_exit(1);
  }
  ::_exit(1);
}

// What an executed program does with buffers of its own.
int be_executed() {
  auto made = Buffer::allocate(kCount);
  if (!made.ok()) return 1;
  std::fill_n(made->data(), made->size(), std::byte{7});
  return shares_an_arena() ? 0 : 1;
}

bool ends_as_promised(pid_t child, End end) {
  int status = 0;
  if (!await([&] { return ::waitpid(child, &status, WNOHANG) == child; })) {
    complain(std::string("a child that ") + kEnds[static_cast<int>(end)] + " does not end");
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    return false;
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
  complain(std::string("a child that ") + kEnds[static_cast<int>(end)] + " has wait status " +
           std::to_string(status));
  return false;
}

// ---- A rank ----

// The first element says whether there are more.
Status reduce_once(float* data, int rank, std::uint64_t number, bool is_last) {
  const auto round = static_cast<float>(number % 100);
  std::fill_n(data, kCount, round + static_cast<float>(rank));
  data[0] = is_last ? 1 : 0;
  if (Status status = everything().world->all_reduce(std::span(data, kCount)); !status.ok())
    return status;
  const auto wrong =
      std::find_if(data + 1, data + kCount, [&](float each) { return each != 2 * round + 1; });
  if (wrong == data + kCount) return {};
  return Status(Code::kInternal, Scope::kOperation, "a result is wrong");
}

Status join(int rank, Shared& shared) {
  UniqueId id;
  if (rank == 0) {
    id = make_unique_id().value();
    // While a thread serves it.
    const pid_t child = ::fork();
    if (child == 0) std::exit(0);
    if (!ends_as_promised(child, End::kExits)) ++shared.bad;
    shared.id = id.bytes;
    shared.has_id = true;
  }
  if (!await([&] { return shared.has_id.load(); }))
    return Status(Code::kTimeout, Scope::kGroup, "there is no id");
  id.bytes = shared.id;
  auto joined = Communicator::init(id, rank, 2, {.timeout_ms = kPatience});
  if (!joined.ok()) return joined.status();
  everything().world = *std::move(joined);
  everything().data = Buffer::allocate(kCount * sizeof(float)).value();
  return {};
}

Status reduce_until_the_last(int rank, Shared& shared, const std::atomic<bool>& is_last) {
  float* const data = everything().data.as<float>().data();
  for (std::uint64_t number = 0;; ++number) {
    const Status status = reduce_once(data, rank, number, is_last);
    if (!status.ok() || data[0] > 0) return status;
    if (rank == 0) ++shared.operations;
  }
}

// Forks in the middle of the other threads' doings.
void fork_often(int forks, Shared& shared) {
  for (int i = 0; i < forks; ++i) {
    const auto end = static_cast<End>(i % static_cast<int>(std::size(kEnds)));
    const std::uint64_t before = shared.operations;
    std::fflush(nullptr);
    const pid_t child = ::fork();
    PACELINE_ASSERT(child >= 0);
    if (child == 0) be_a_child(end);
    if (!ends_as_promised(child, end)) ++shared.bad;
    if (await([&] { return shared.operations > before + 1; })) continue;
    complain(std::string("no operation ends after a child that ") + kEnds[static_cast<int>(end)]);
    ++shared.bad;
    return;
  }
}

void make_and_free(const std::atomic<bool>& is_over) {
  for (std::size_t bytes = 1; !is_over; bytes = bytes % 1'000'000 + 4099)
    PACELINE_ASSERT(Buffer::allocate(bytes).ok());
}

// While a child of it lives on.
[[noreturn]] void be_killed(Shared& shared) {
  const pid_t child = ::fork();
  if (child == 0) {
    await([&] { return shared.noticed.load(); });
    ::_exit(0);
  }
  ::raise(SIGKILL);
  std::abort();
}

[[noreturn]] void play_first(int forks, Shared& shared) {
  std::atomic<bool> is_last{false};
  std::thread forker([&] {
    fork_often(forks, shared);
    is_last = true;
  });
  std::thread maker([&] { make_and_free(is_last); });
  const Status ended = reduce_until_the_last(0, shared, is_last);
  is_last = true;
  forker.join();
  maker.join();
  if (!ended.ok()) {
    complain("rank 0: " + ended.to_string());
    ++shared.bad;
  }
  be_killed(shared);
}

void play_second(Shared& shared) {
  const Status ended = reduce_until_the_last(1, shared, std::atomic<bool>(false));
  if (!ended.ok()) {
    complain("rank 1: " + ended.to_string());
    ++shared.bad;
  }
  const Status lost = everything().world->barrier();
  shared.noticed = lost.code() == Code::kPeerLost && lost.culprit().rank == 0;
  if (!shared.noticed) complain("rank 1, of a rank 0 that was killed: " + lost.to_string());
  everything().world.reset();
}

[[noreturn]] void play(int rank, int forks, Shared& shared) {
  if (const Status joined = join(rank, shared); !joined.ok()) {
    complain("rank " + std::to_string(rank) + " could not join: " + joined.to_string());
    ++shared.bad;
    std::fflush(nullptr);
    ::_exit(1);
  }
  if (rank == 0) play_first(forks, shared);
  play_second(shared);
  std::fflush(nullptr);
  ::_exit(0);
}

// ---- The world ----

int names_left(const std::string& job) {
  int left = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm"))
    left += entry.path().filename().string().find(job) != std::string::npos ? 1 : 0;
  return left;
}

int run(int forks) {
  const std::string job = "fork" + std::to_string(::getpid());
  ::setenv("PACELINE_JOB_ID", job.c_str(), 1);
  void* const memory =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  PACELINE_ASSERT(memory != MAP_FAILED);
  Shared& shared = *new (memory) Shared;
  std::vector<pid_t> ranks;
  for (int rank = 0; rank < 2; ++rank) {
    const pid_t pid = ::fork();
    PACELINE_ASSERT(pid >= 0);
    if (pid == 0) play(rank, forks, shared);
    ranks.push_back(pid);
  }
  for (const pid_t pid : ranks) ::waitpid(pid, nullptr, 0);
  const int left = names_left(job);
  const int bad = shared.bad + (shared.noticed ? 0 : 1) + left;
  std::printf(
      "%d children between %llu operations of their parent, %d names left: "
      "%d not as promised\n",
      forks, static_cast<unsigned long long>(shared.operations), left, bad);
  return bad == 0 ? 0 : 1;
}

}  // namespace
}  // namespace paceline::testing

int main(int argc, char** argv) {
  using namespace paceline::testing;
  if (argc == 2 && std::string_view(argv[1]) == kExecuted) return be_executed();
  const auto options = read_options(argc, argv, "fork_in_the_middle");
  return options ? run(options->quick ? 60 : 600) : 2;
}
