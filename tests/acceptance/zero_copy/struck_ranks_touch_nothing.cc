// Nobody touches a buffer whose owner has got it back: worlds of 2 to 4 processes carry out long
// operations on buffers; at a random moment one is stopped (SIGSTOP), killed (SIGKILL), ends, or
// stays away. Every survivor's operation ends in bounded time with an error that names it, what had
// ended well was right, and what the survivors write into their buffers afterwards stays there when
// the stopped one goes on.
//
//   struck_ranks_touch_nothing [--quick] [--seed N]
//
// Worlds run side by side: one with a stopped rank does nothing until its deadline.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>
#include <string_view>
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
#include "comm/base/random.h"
#include "tests/acceptance/zero_copy/options.h"

namespace paceline::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kMostRanks = 4;
constexpr int kWorkers = 6;
constexpr milliseconds kTimeout{1000};
// On top of the deadline, since other worlds use the machine too.
constexpr seconds kGrace{8};
constexpr std::byte kCanary{0xC5};

enum class Strike { kStop, kKill, kExit, kAbsence };
constexpr const char* kStrikes[] = {"stopped", "killed", "ended", "stayed away"};

struct Plan {
  std::uint64_t seed = 0;
  int ranks = 2;
  int victim = 0;
  Strike strike = Strike::kStop;
  OperationKind kind = OperationKind::kAllReduce;
  bool in_place = true;
  std::size_t count = 0;        // of float32, of the array or of a block
  Duration moment{};            // since all have ended an operation
  std::uint64_t last_call = 0;  // of a victim that ends or stays away
};

Plan plan_of(std::uint64_t seed) {
  constexpr OperationKind kKinds[] = {OperationKind::kAllReduce,     OperationKind::kAllReduce,
                                      OperationKind::kReduceScatter, OperationKind::kAllGather,
                                      OperationKind::kAllToAll,      OperationKind::kBroadcast,
                                      OperationKind::kExchange,      OperationKind::kSend};
  Random random(seed);
  Plan plan{.seed = seed};
  plan.kind = kKinds[random.below(std::size(kKinds))];
  // Both ends of a message copy it where they have a CPU each.
  if (plan.kind != OperationKind::kSend)
    plan.ranks = 2 + static_cast<int>(random.below(kMostRanks - 1));
  plan.victim = static_cast<int>(random.below(static_cast<std::uint64_t>(plan.ranks)));
  // Who is stopped in the middle is what this is about.
  const std::uint64_t die = random.below(8);
  plan.strike = die < 5 ? Strike::kStop : static_cast<Strike>(die - 4);
  plan.in_place = random.chance(0.5);
  plan.count = (std::size_t{16} << 10 << random.below(7)) + random.below(1000);
  plan.moment = Duration(random.below(5'000'000));
  plan.last_call = 1 + random.below(20);
  return plan;
}

// What a rank says to whoever watches the world.
enum class Phase : int { kJoining, kRunning, kFailed, kWrong, kRight };

struct Shared {
  std::array<std::byte, UniqueId::kBytes> id{};
  std::atomic<bool> has_id{false};
  std::atomic<bool> look{false};  // at the canaries
  struct Rank {
    std::atomic<Phase> phase{Phase::kJoining};
    std::atomic<std::uint64_t> calls{0};
    char text[400] = "";
  } ranks[kMostRanks];
};

void pause_for(Duration duration) {
  const timespec time{.tv_sec = 0, .tv_nsec = duration.count()};
  ::ppoll(nullptr, 0, &time, nullptr);
}

bool await(const std::function<bool()>& condition, Duration patience) {
  const SystemClock clock;
  const Deadline deadline = Deadline::after(clock, patience);
  while (!condition()) {
    if (deadline.passed(clock.now())) return false;
    pause_for(std::chrono::microseconds(200));
  }
  return true;
}

// ---- A rank ----

class Player {
 public:
  Player(const Plan& plan, int rank, Shared& shared)
      : plan_(plan), rank_(rank), shared_(shared), own_(shared.ranks[rank]) {}

  void play() {
    const std::string wrong = run();
    std::snprintf(own_.text, sizeof own_.text, "%s", wrong.c_str());
    own_.phase = wrong.empty() ? Phase::kRight : Phase::kWrong;
  }

 private:
  bool is_victim() const { return rank_ == plan_.victim; }
  std::size_t ranks() const { return static_cast<std::size_t>(plan_.ranks); }

  std::string run() {
    auto joined = join();
    if (!joined.ok()) return "could not join: " + joined.status().to_string();
    Communicator& world = *joined;
    const std::size_t whole = plan_.count * ranks() * sizeof(float);
    const Buffer first = Buffer::allocate(whole).value(), second = Buffer::allocate(whole).value();
    own_.phase = Phase::kRunning;
    const Status ended = repeat(world, first, second);
    if (is_victim()) return {};
    if (ended.ok()) return "the operations never failed";
    for (const Buffer* buffer : {&first, &second})
      std::fill_n(buffer->data(), buffer->size(), kCanary);
    own_.phase = Phase::kFailed;
    if (ended.code() == Code::kInternal) return ended.to_string();
    if (ended.culprit().rank != plan_.victim) return "blames another: " + ended.to_string();
    if (!await([&] { return shared_.look.load(); }, 2 * kGrace + seconds(10))) return "forgotten";
    for (const Buffer* buffer : {&first, &second}) {
      const auto found = std::count(buffer->data(), buffer->data() + buffer->size(), kCanary);
      if (static_cast<std::size_t>(found) != buffer->size())
        return std::to_string(buffer->size() - static_cast<std::size_t>(found)) +
               " bytes were written after the operation had ended: " + ended.to_string();
    }
    return {};
  }

  Result<Communicator> join() {
    UniqueId id;
    if (rank_ == 0) {
      id = make_unique_id().value();
      shared_.id = id.bytes;
      shared_.has_id = true;
    } else {
      if (!await([&] { return shared_.has_id.load(); }, seconds(20)))
        return Status(Code::kTimeout, Scope::kGroup, "there is no id");
      id.bytes = shared_.id;
    }
    return Communicator::init(id, rank_, plan_.ranks, {.timeout_ms = seconds(30)});
  }

  Status repeat(Communicator& world, const Buffer& first, const Buffer& second) {
    for (std::uint64_t call = 0;; ++call) {
      if (is_victim() && call == plan_.last_call) {
        if (plan_.strike == Strike::kExit) ::_exit(0);
        if (plan_.strike == Strike::kAbsence) {
          await([&] { return shared_.look.load(); }, 2 * kGrace + seconds(10));
          return {};
        }
      }
      if (Status status = run_once(world, first.as<float>(), second.as<float>(), call);
          !status.ok())
        return status;
      // Not before: the first one waits for ranks that still get their memory.
      if (call == 0) (void)world.set_timeout(kTimeout);
      own_.calls = call + 1;
    }
  }

  // Whole numbers: rank r contributes r + call % 5 in every place.
  static float of(int rank, std::uint64_t call) {
    return static_cast<float>(rank + static_cast<int>(call % 5));
  }
  float sum(std::uint64_t call) const {
    float all = 0;
    for (int rank = 0; rank < plan_.ranks; ++rank) all += of(rank, call);
    return all;
  }

  Status run_once(Communicator& world, std::span<float> in, std::span<float> other,
                  std::uint64_t call) {
    const std::size_t count = plan_.count;
    const auto own = static_cast<std::size_t>(rank_) * count;
    std::ranges::fill(in, of(rank_, call));
    switch (plan_.kind) {
      case OperationKind::kAllReduce: {
        float* const out = plan_.in_place ? in.data() : other.data();
        return expect(world.all_reduce(in.data(), out, count, DataType::kFloat32), {out, count},
                      sum(call));
      }
      case OperationKind::kReduceScatter: {
        float* const out = plan_.in_place ? in.data() + own : other.data();
        return expect(world.reduce_scatter(in.data(), out, count, DataType::kFloat32), {out, count},
                      sum(call));
      }
      case OperationKind::kAllGather: {
        float* const out = plan_.in_place ? in.data() : other.data();
        const float* const from = in.data() + (plan_.in_place ? own : 0);
        return expect_blocks(world.all_gather(from, out, count, DataType::kFloat32), out, call);
      }
      case OperationKind::kAllToAll:
        return expect_blocks(world.all_to_all(in.data(), other.data(), count, DataType::kFloat32),
                             other.data(), call);
      case OperationKind::kExchange: {
        const int previous = (rank_ + plan_.ranks - 1) % plan_.ranks;
        const Status status = world.exchange(std::array{
            Message::sent(in.data(), count, DataType::kFloat32, (rank_ + 1) % plan_.ranks),
            Message::received(other.data(), count, DataType::kFloat32, previous)});
        return expect(status, other.first(count), of(previous, call));
      }
      case OperationKind::kSend: {
        const int sender = static_cast<int>(call % 2);
        if (rank_ == sender) return world.send(in.data(), count, DataType::kFloat32, 1 - rank_);
        return expect(world.receive(other.data(), count, DataType::kFloat32, sender),
                      other.first(count), of(sender, call));
      }
      default: {
        const int root = static_cast<int>(call % ranks());
        return expect(world.broadcast(in.data(), count, DataType::kFloat32, root), in.first(count),
                      of(root, call));
      }
    }
  }

  Status expect_blocks(Status status, const float* blocks, std::uint64_t call) const {
    for (int rank = 0; rank < plan_.ranks && status.ok(); ++rank)
      status = expect({}, {blocks + static_cast<std::size_t>(rank) * plan_.count, plan_.count},
                      of(rank, call));
    return status;
  }

  // What the operation has returned, or that its result is wrong.
  static Status expect(const Status& status, std::span<const float> found, float value) {
    if (!status.ok()) return status;
    const auto other = std::ranges::find_if(found, [&](float each) { return each != value; });
    if (other == found.end()) return status;
    return Status(Code::kInternal, Scope::kOperation,
                  "a wrong result was reported as right: " + std::to_string(*other) + " for " +
                      std::to_string(value));
  }

  const Plan& plan_;
  const int rank_;
  Shared& shared_;
  Shared::Rank& own_;
};

// ---- A world ----

class Watcher {
 public:
  explicit Watcher(const Plan& plan) : plan_(plan) {
    void* const memory =
        ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    PACELINE_ASSERT(memory != MAP_FAILED);
    shared_ = new (memory) Shared;
  }
  ~Watcher() {
    for (const pid_t pid : pids_) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
    ::munmap(shared_, sizeof(Shared));
  }
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  // What is wrong; empty: nothing.
  std::string watch() {
    for (int rank = 0; rank < plan_.ranks; ++rank) start(rank);
    if (!await([&] { return all([](const auto& one) { return one.calls > 0; }); }, seconds(40)))
      return "no operation ended: " + texts();
    strike();
    if (!await([&] { return survivors_are([](Phase phase) { return phase > Phase::kRunning; }); },
               kTimeout + kGrace))
      return "a survivor's operation did not end";
    if (plan_.strike == Strike::kStop) go_on();
    shared_->look = true;
    if (!await([&] { return survivors_are([](Phase phase) { return phase > Phase::kFailed; }); },
               kGrace))
      return "a survivor did not look at its buffers";
    const bool right = survivors_are([](Phase phase) { return phase == Phase::kRight; });
    return right ? "" : texts();
  }

 private:
  void start(int rank) {
    std::fflush(nullptr);
    const pid_t pid = ::fork();
    PACELINE_ASSERT(pid >= 0);
    if (pid == 0) {
      Player(plan_, rank, *shared_).play();
      ::_exit(0);
    }
    pids_.push_back(pid);
  }
  pid_t victim() const { return pids_[static_cast<std::size_t>(plan_.victim)]; }

  void strike() {
    if (plan_.strike == Strike::kExit || plan_.strike == Strike::kAbsence) return;
    pause_for(plan_.moment);
    ::kill(victim(), plan_.strike == Strike::kStop ? SIGSTOP : SIGKILL);
  }
  // It ends what it was doing, and then itself.
  void go_on() {
    ::kill(victim(), SIGCONT);
    await([&] { return shared_->ranks[plan_.victim].phase > Phase::kRunning; }, kTimeout + kGrace);
  }

  bool all(const std::function<bool(const Shared::Rank&)>& condition) const {
    return std::all_of(shared_->ranks, shared_->ranks + plan_.ranks, condition);
  }
  bool survivors_are(const std::function<bool(Phase)>& condition) const {
    for (int rank = 0; rank < plan_.ranks; ++rank)
      if (rank != plan_.victim && !condition(shared_->ranks[rank].phase)) return false;
    return true;
  }
  std::string texts() const {
    std::string text;
    for (int rank = 0; rank < plan_.ranks; ++rank)
      if (shared_->ranks[rank].text[0] != '\0')
        text += "rank " + std::to_string(rank) + ": " + shared_->ranks[rank].text + "; ";
    return text;
  }

  const Plan& plan_;
  Shared* shared_;
  std::vector<pid_t> pids_;
};

bool holds(std::uint64_t seed) {
  const Plan plan = plan_of(seed);
  const std::string wrong = Watcher(plan).watch();
  if (wrong.empty()) return true;
  std::printf("seed %llu: %d ranks, rank %d %s, %s of %zu: %s\n",
              static_cast<unsigned long long>(seed), plan.ranks, plan.victim,
              kStrikes[static_cast<int>(plan.strike)], std::string(name(plan.kind)).c_str(),
              plan.count, wrong.c_str());
  return false;
}

// Seeds from `first`, side by side. How many do not hold.
int run_worlds(std::uint64_t first, int worlds) {
  std::vector<pid_t> workers;
  for (int worker = 0; worker < kWorkers; ++worker) {
    std::fflush(nullptr);
    const pid_t pid = ::fork();
    PACELINE_ASSERT(pid >= 0);
    if (pid == 0) {
      int bad = 0;
      for (int world = worker; world < worlds; world += kWorkers)
        bad += holds(first + static_cast<std::uint64_t>(world)) ? 0 : 1;
      std::fflush(nullptr);
      ::_exit(std::min(bad, 100));
    }
    workers.push_back(pid);
  }
  int bad = 0;
  for (const pid_t pid : workers) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    bad += WIFEXITED(status) ? WEXITSTATUS(status) : 1;
  }
  return bad;
}

}  // namespace
}  // namespace paceline::testing

int main(int argc, char** argv) {
  using namespace paceline::testing;
  const auto options = read_options(argc, argv, "struck_ranks_touch_nothing", "--seed");
  if (!options) return 2;
  if (options->value) return holds(std::strtoull(options->value, nullptr, 10)) ? 0 : 1;
  const int worlds = options->quick ? 40 : 500;
  const int bad = run_worlds(1, worlds);
  std::printf("%d worlds with a rank that was struck: %d not as promised\n", worlds, bad);
  return bad == 0 ? 0 : 1;
}
