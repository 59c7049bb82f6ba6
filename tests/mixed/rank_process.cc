#include "tests/mixed/rank_process.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <poll.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <paceline/buffer.h>
#include <paceline/communicator.h>

#include "comm/base/try.h"
#include "tests/harness/ranks.h"
#include "tests/mixed/act.h"
#include "tests/mixed/lane.h"
#include "tests/mixed/port.h"

namespace paceline::testing::mixed {
namespace {

using std::chrono::milliseconds;

// Longer than anything takes: an error by it is a hang.
constexpr milliseconds kTimeout{20'000};
constexpr unsigned kChildTimeoutS = 20;

template <std::size_t kSize>
void write_text(const std::string& text, std::array<char, kSize>& into) {
  std::snprintf(into.data(), into.size(), "%s", text.c_str());
}

// ---- Forks ----

enum class Child { kLeaves, kIsRefused, kReads, kExits, kStays };
constexpr std::size_t kReadBytes = 10'000;
constexpr std::byte kWritten{0x5A};

[[noreturn]] void be_a_child(Child how, Port& port, const Buffer& buffer) {
  ::signal(SIGALRM, SIG_DFL);
  ::alarm(kChildTimeoutS);
  if (how == Child::kIsRefused && port.barrier().code() != Code::kInvalidArgument) ::_exit(1);
  if (how == Child::kReads && std::ranges::count(buffer.as<std::byte>(), kWritten) != kReadBytes)
    ::_exit(1);
  if (how == Child::kExits) std::exit(0);
  if (how == Child::kStays) {
    ::alarm(0);
    while (true) ::pause();  // the judge ends it
  }
  ::_exit(0);
}

// One that stays keeps copies of the descriptors of its parent, who may end before it.
Status fork_one(Random random, Port& port) {
  const std::uint64_t drawn = random.below(12);
  const Child how = drawn == 0   ? Child::kStays
                    : drawn < 4  ? Child::kLeaves
                    : drawn < 8  ? Child::kIsRefused
                    : drawn < 10 ? Child::kReads
                                 : Child::kExits;
  PACELINE_TRY_ASSIGN(const Buffer buffer, Buffer::allocate(kReadBytes));
  std::ranges::fill(buffer.as<std::byte>(), kWritten);
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) return wrong("fork failed");
  if (child == 0) be_a_child(how, port, buffer);
  if (how == Child::kStays) return {};
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return wrong("a child has wait status " + std::to_string(status));
}

// ---- A rank ----

class Rank {
 public:
  Rank(const WorldScript& script, int rank, Board& board)
      : script_(script),
        rank_(rank),
        process_(static_cast<std::size_t>(script.process_of[static_cast<std::size_t>(rank)])),
        board_(board),
        report_(board.ranks[static_cast<std::size_t>(rank)]),
        operations_(script.lanes.size(), 0),
        wrong_(script.lanes.size()) {}

  void run() {
    Status ended = join();
    if (ended.ok()) ended = live();
    for (const Status& one : wrong_)
      if (ended.ok()) ended = one;
    for (const std::uint64_t operations : operations_) report_.operations += operations;
    if (!ended.ok()) write_text(ended.to_string(), report_.wrong);
    report_.has_ended = true;
  }

 private:
  Status join() {
    PACELINE_TRY(script_.is_launched ? join_environment() : join_ids());
    for (const LaneScript& lane : script_.lanes) {
      PACELINE_TRY_ASSIGN(auto port, make_port(lane));
      if (!port) return wrong("a lane without a communicator");
      ports_.push_back(*std::move(port));
    }
    ++board_.arrived;
    // So that nobody who is struck is missed by a split.
    if (!await([&] { return board_.arrived >= script_.ranks; })) return wrong("not all arrived");
    return {};
  }

  Status join_ids() {
    if (rank_ == 0) {
      for (UniqueId& id : board_.ids) {
        PACELINE_TRY_ASSIGN(id, make_unique_id());
      }
      board_.has_ids = true;
    }
    if (!await([&] { return board_.has_ids.load(); })) return wrong("there is no id");
    PACELINE_TRY_ASSIGN(Communicator joined, Communicator::init(board_.ids[0], rank_, script_.ranks,
                                                                {.timeout_ms = kTimeout}));
    world_.emplace(std::move(joined));
    const plConfig_t config = c_config();
    plUniqueId id;
    static_assert(sizeof id.internal == UniqueId::kBytes);
    std::memcpy(id.internal, board_.ids[1].bytes.data(), sizeof id.internal);
    plComm_t made = nullptr;
    const plResult_t result = plCommInitRankConfig(&made, script_.ranks, id, rank_, &config);
    return take_in_c(result, made);
  }
  Status join_environment() {
    PACELINE_TRY_ASSIGN(Communicator joined, Communicator::init({.timeout_ms = kTimeout}));
    world_.emplace(std::move(joined));
    const plConfig_t config = c_config();
    plComm_t made = nullptr;
    const plResult_t result = plCommInitFromEnvironment(&made, &config);
    return take_in_c(result, made);
  }
  static plConfig_t c_config() {
    plConfig_t config = PL_CONFIG_INITIALIZER;
    config.timeoutMs = kTimeout.count();
    return config;
  }
  Status take_in_c(plResult_t result, plComm_t made) {
    if (result != plSuccess) return wrong(plGetLastError(nullptr));
    c_world_.emplace(made);
    return {};
  }

  Result<std::optional<Port>> make_port(const LaneScript& lane) {
    const int color = lane.colors[static_cast<std::size_t>(rank_)];
    const int key = lane.keys[static_cast<std::size_t>(rank_)];
    if (lane.is_in_c) return c_world_->split(color, key);
    Port world(&*world_);
    return world.split(color, key);
  }

  Status live() {
    std::vector<std::thread> threads;
    for (std::size_t lane = 0; lane < ports_.size(); ++lane)
      threads.emplace_back([this, lane] { run_one(lane); });
    for (std::thread& thread : threads) thread.join();
    return script_.ending.is_of_process() ? lose_world() : close_world();
  }

  Status close_world() {
    PACELINE_TRY(world_->close());
    return c_world_->close();
  }
  Status lose_world() {
    const Status lost = world_->barrier();
    const std::vector<int> victims = script_.victims(script_.ending.lane);
    if (!lost.ok() && std::ranges::count(victims, lost.culprit().rank) == 1) return {};
    return wrong("the world: " + (lost.ok() ? "a success" : lost.to_string()));
  }

  void run_one(std::size_t lane) {
    LaneReport& report = report_.lanes[lane];
    const auto color =
        static_cast<std::uint64_t>(script_.lanes[lane].colors[static_cast<std::size_t>(rank_)]);
    LaneOptions options{.seed = drawn(script_.seed, {lane, color}).next(),
                        .acts = script_.acts,
                        .may_split = script_.ending.kind == Ending::Kind::kNone};
    options.before = [&, lane](Port& port, std::uint64_t act) { return begin(port, lane, act); };
    const Status ended = run_lane(ports_[lane], options, operations_[lane]);
    const SystemClock clock;
    report.late_ms =
        (clock.now().time_since_epoch() - std::chrono::nanoseconds(board_.ended_at_ns)) /
        milliseconds(1);
    report.code = static_cast<int>(ended.code());
    report.culprit = ended.culprit().rank;
    write_text(ended.ok() ? "" : ended.to_string(), report.text);
    report.has_ended = true;
  }

  // False if this rank leaves the lane before the act.
  bool begin(Port& port, std::size_t lane, std::uint64_t act) {
    report_.lanes[lane].act = act;
    Random random = drawn(script_.seed, {lane, act, static_cast<std::uint64_t>(rank_), 7});
    const auto permille = static_cast<std::uint64_t>(script_.fork_permille[process_]);
    if (random.below(1000) < permille && wrong_[lane].ok()) wrong_[lane] = fork_one(random, port);
    const Ending& ending = script_.ending;
    const bool ends = ending.kind != Ending::Kind::kNone && ending.rank == rank_ &&
                      ending.lane == lane && ending.act == act;
    if (ends) end(port);
    return !ends;
  }

  void end(Port& port) {
    const SystemClock clock;
    board_.ended_at_ns = clock.now().time_since_epoch().count();
    switch (script_.ending.kind) {
      case Ending::Kind::kNone:
        return;
      case Ending::Kind::kKilled:
        ::kill(::getpid(), SIGKILL);
        return;
      case Ending::Kind::kLeaves:
        ::_exit(kExitCode);
      case Ending::Kind::kExits:
        std::exit(kExitCode);
      case Ending::Kind::kAborts:
        return port.abort();
      case Ending::Kind::kDestroys:
        return port.destroy();
    }
  }

  const WorldScript& script_;
  const int rank_;
  const std::size_t process_;
  Board& board_;
  RankReport& report_;
  std::optional<Communicator> world_;
  std::optional<Port> c_world_;
  std::vector<Port> ports_;                // by lane, as the next two
  std::vector<std::uint64_t> operations_;  // that have ended well
  std::vector<Status> wrong_;              // what a fork has shown
};

// Signals interrupt system calls of any thread.
void start_timer(int interval_us) {
  if (interval_us == 0) return;
  struct sigaction action {};
  action.sa_handler = [](int) {};
  ::sigaction(SIGALRM, &action, nullptr);
  const timeval interval{.tv_sec = 0, .tv_usec = interval_us};
  const itimerval timer{.it_interval = interval, .it_value = interval};
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

}  // namespace

bool await(FunctionRef<bool()> condition) {
  const SystemClock clock;
  const Deadline deadline = Deadline::after(clock, std::chrono::seconds(30));
  const timespec moment{.tv_sec = 0, .tv_nsec = 200'000};
  while (!condition()) {
    if (deadline.passed(clock.now())) return false;
    ::ppoll(nullptr, 0, &moment, nullptr);
  }
  return true;
}

void run_process(const WorldScript& script, int process, Board& board) {
  for (const auto& [name, value] : script.environment) ::setenv(name.c_str(), value.c_str(), 1);
  start_timer(script.timer_us[static_cast<std::size_t>(process)]);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < script.ranks; ++rank)
    if (script.process_of[static_cast<std::size_t>(rank)] == process)
      threads.emplace_back([&, rank] { Rank(script, rank, board).run(); });
  for (std::thread& thread : threads) thread.join();
  std::fflush(nullptr);
  ::_exit(0);
}

}  // namespace paceline::testing::mixed
