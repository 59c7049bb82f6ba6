// Whatever step of an operation a rank is struck at, nobody touches a buffer whose owner has got it
// back: in worlds of 2 and 3 processes one comes to a step that has a name (strikes.h), for the
// first or a later time, and before it, behind it or in the middle of a copy is stopped (SIGSTOP),
// killed (SIGKILL), ends, or stays away. Every survivor's operation ends in bounded time with an
// error that names it, what had ended well was right, and what the survivors write into their
// arrays afterwards stays there when the stopped one goes on.
//
//   struck_at_every_step [--quick] [--case N]
//
// First worlds in which nobody is struck count the steps of each method: so every step that there
// is gets its strikes, and one that no method comes to is a mistake. Worlds run side by side: one
// with a stopped rank does nothing until its deadline.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <new>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comm/base/assert.h"
#include "tests/acceptance/zero_copy/options.h"
#include "tests/acceptance/zero_copy/struck_rank.h"

namespace paceline::testing {
namespace {

constexpr int kWorkers = 10;
constexpr std::size_t kReportEvery = 500;
// Where other worlds leave a rank no time, it is silent as a struck one is: then another try has
// more.
constexpr std::chrono::milliseconds kTimeouts[] = {std::chrono::milliseconds(400),
                                                   std::chrono::milliseconds(2000),
                                                   std::chrono::milliseconds(10000)};

struct Manner {
  bool in_place = false;
  bool buffers = false;
  bool gathers = false;
  bool asynchronous = false;
};
struct Method {
  const char* name;
  OperationKind kind;
  std::size_t count;  // of float32, of the array or of a block
  Manner manner{};
};
using Kind = OperationKind;
// Chunks are of 4 KiB, and pieces of 1 MiB of all ranks' parts together.
constexpr std::size_t kLong = 1'000'003, kLongBlock = 300'007, kManyChunks = 10'007;
constexpr Method kMethods[] = {
    {"flags", Kind::kBarrier, 0},
    {"in the line of a flag", Kind::kAllReduce, 3},
    {"in posts", Kind::kAllReduce, 500},
    {"in posts, to each", Kind::kAllToAll, 100},
    {"in the line of a root's flag", Kind::kBroadcast, 3},
    {"in a root's post", Kind::kBroadcast, 500},
    {"gathered flags", Kind::kBarrier, 0, {.gathers = true}},
    {"gathered in a line", Kind::kAllReduce, 3, {.gathers = true}},
    {"gathered in posts", Kind::kAllReduce, 900, {.gathers = true}},
    {"gathered, in chunks", Kind::kAllReduce, kManyChunks, {.gathers = true}},
    {"gathered, to each, in chunks", Kind::kAllToAll, 3001, {.gathers = true}},
    {"gathered, direct", Kind::kAllReduce, kLong, {.buffers = true, .gathers = true}},
    {"gathered, direct, a root's", Kind::kBroadcast, kLong, {.buffers = true, .gathers = true}},
    {"gathered, direct, of all",
     Kind::kAllGather,
     kLongBlock,
     {.in_place = true, .buffers = true, .gathers = true}},
    {"in chunks", Kind::kAllReduce, kManyChunks},
    {"a root's, in few chunks", Kind::kBroadcast, 2500},
    {"a root's, in many chunks", Kind::kBroadcast, kManyChunks},
    {"sums of each, in chunks", Kind::kReduceScatter, 3001},
    {"of all, in chunks", Kind::kAllGather, kManyChunks},
    {"to each, in chunks", Kind::kAllToAll, 3001, {.in_place = true}},
    {"direct", Kind::kAllReduce, kLong, {.in_place = true, .buffers = true}},
    {"direct, out of place", Kind::kAllReduce, kLong, {.buffers = true}},
    {"direct, past the caches", Kind::kAllReduce, 4'200'011, {.buffers = true}},
    {"direct, a root's, short", Kind::kBroadcast, 2500, {.buffers = true}},
    {"direct, a root's", Kind::kBroadcast, kLong, {.buffers = true}},
    {"direct, sums of each", Kind::kReduceScatter, kLongBlock, {.buffers = true}},
    {"direct, of all", Kind::kAllGather, kLongBlock, {.in_place = true, .buffers = true}},
    {"direct, to each", Kind::kAllToAll, kLongBlock, {.buffers = true}},
    {"messages", Kind::kExchange, kLongBlock, {.buffers = true}},
    {"messages, begun", Kind::kExchange, kLongBlock, {.buffers = true, .asynchronous = true}},
};

// A method in a world, with one victim.
struct Course {
  const Method* method;
  int ranks;
  int victim;

  Plan plan() const {
    return {.call = {.kind = method->kind,
                     .count = method->count,
                     .asynchronous = method->manner.asynchronous,
                     .in_place = method->manner.in_place,
                     .registered = method->manner.buffers},
            .gathers = method->manner.gathers,
            .ranks = ranks,
            .victim = victim};
  }
};

std::vector<Course> courses() {
  std::vector<Course> all;
  for (const Method& method : kMethods)
    for (int ranks = 2; ranks <= kMostRanks; ++ranks)
      for (int victim = 0; victim < ranks; ++victim) all.push_back({&method, ranks, victim});
  return all;
}

struct Case {
  const Course* course;
  Tempo tempo;
  Striker::Aim aim;

  std::string text() const {
    const char* const place = aim.behind ? "behind" : aim.step == Step::kTouch ? "at" : "before";
    return std::to_string(course->ranks) + " ranks, " + course->method->name + ", rank " +
           std::to_string(course->victim) + " " + kStrikes[static_cast<int>(aim.strike)] + " " +
           place + " '" + kStepNames[static_cast<int>(aim.step)] + "', pass " +
           std::to_string(aim.pass);
  }
};

template <class T>
T* shared_by_processes(std::size_t count = 1) {
  void* const memory =
      ::mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  PACELINE_ASSERT(memory != MAP_FAILED);
  T* const all = static_cast<T*>(memory);
  for (std::size_t i = 0; i < count; ++i) new (all + i) T;
  return all;
}

// The first line that begins so.
std::string line_of(const std::string& path, std::string_view begin = "") {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(begin)) return line;
  return "(nothing)";
}

// ---- A world ----

class Watcher {
 public:
  explicit Watcher(const Plan& plan)
      : plan_(plan), shared_(*shared_by_processes<Shared>()), world_(plan.ranks) {}
  ~Watcher() {
    for (const pid_t pid : pids_) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
    ::munmap(&shared_, sizeof(Shared));
  }
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  // What is wrong; empty: nothing.
  std::string watch() {
    start();
    await([&] { return shared_.struck || was_late(); }, kPatience);
    if (!shared_.struck) return "it never came to that step: " + texts();
    if (!await([&] { return survivors_are_beyond(Phase::kRunning); }, plan_.timeout + kGrace))
      return "a survivor's operation did not end";
    shared_.go_on = true;
    const Strike strike = plan_.aim.strike;
    if (strike == Strike::kStop) ::kill(pids_[static_cast<std::size_t>(plan_.victim)], SIGCONT);
    const bool goes_on = strike == Strike::kStop || strike == Strike::kAbsence;
    const Shared::Rank& victim = shared_.ranks[plan_.victim];
    if (goes_on && !await([&] { return victim.phase > Phase::kRunning; }, plan_.timeout + kGrace))
      return "the rank that went on did not end";
    shared_.look = true;
    if (!await([&] { return survivors_are_beyond(Phase::kFailed); }, kGrace))
      return "a survivor did not look at its arrays";
    return texts();
  }

  // Has a survivor's deadline passed before the victim was struck, or because of another rank?
  bool was_late() const {
    return std::any_of(shared_.ranks, shared_.ranks + plan_.ranks,
                       [](const Shared::Rank& rank) { return rank.was_late.load(); });
  }

  // Nobody is struck; what the victim has come to.
  std::string count(std::array<std::uint64_t, kSteps>& passes) {
    start();
    const Shared::Rank& victim = shared_.ranks[plan_.victim];
    const bool ended = await(
        [&] { return victim.phase > Phase::kRunning && survivors_are_beyond(Phase::kRunning); },
        kPatience);
    std::copy(shared_.passes.begin(), shared_.passes.end(), passes.begin());
    return ended ? texts() : "calls in which nobody is struck did not end: " + whereabouts();
  }

 private:
  void start() {
    for (int rank = 0; rank < plan_.ranks; ++rank) {
      std::fflush(nullptr);
      const pid_t pid = ::fork();
      PACELINE_ASSERT(pid >= 0);
      if (pid == 0) {
        Player(plan_, rank, world_, shared_).play();
        ::_exit(0);
      }
      pids_.push_back(pid);
    }
  }
  bool survivors_are_beyond(Phase phase) const {
    for (int rank = 0; rank < plan_.ranks; ++rank)
      if (rank != plan_.victim && shared_.ranks[rank].phase <= phase) return false;
    return true;
  }
  std::string texts() const {
    std::string text;
    for (int rank = 0; rank < plan_.ranks; ++rank)
      if (shared_.ranks[rank].text[0] != '\0')
        text += "rank " + std::to_string(rank) + ": " + shared_.ranks[rank].text + "; ";
    return text;
  }

  // Of all ranks: how far each is, and what its process does (proc(5): status, wchan, syscall).
  std::string whereabouts() const {
    std::string text;
    for (std::size_t rank = 0; rank < pids_.size(); ++rank) {
      const Shared::Rank& there = shared_.ranks[rank];
      const std::string process = "/proc/" + std::to_string(pids_[rank]);
      text += "rank " + std::to_string(rank) + ": " +
              kPhaseNames[static_cast<int>(there.phase.load())] + ", call " +
              std::to_string(there.calls) + ", " + line_of(process + "/status", "State:") + " in " +
              line_of(process + "/wchan") + ", " + line_of(process + "/syscall") + "; ";
    }
    return text + texts();
  }

  const Plan plan_;
  Shared& shared_;
  const StruckWorld world_;
  std::vector<pid_t> pids_;
};

bool holds(const Case& one, std::size_t number) {
  Plan plan = one.course->plan();
  plan.tempo = one.tempo;
  plan.aim = one.aim;
  std::string wrong;
  for (const auto timeout : kTimeouts) {
    plan.timeout = timeout;
    Watcher watcher(plan);
    wrong = watcher.watch();
    if (!watcher.was_late()) break;
  }
  if (!wrong.empty()) std::printf("case %zu: %s: %s\n", number, one.text().c_str(), wrong.c_str());
  return wrong.empty();
}

// In processes side by side, each of which takes the next. For how many it was false.
std::size_t count_false(std::size_t count, const std::function<bool(std::size_t)>& body) {
  auto& next = *shared_by_processes<std::atomic<std::size_t>>();
  auto& held = *shared_by_processes<std::atomic<std::size_t>>();
  std::vector<pid_t> workers;
  for (int worker = 0; worker < kWorkers; ++worker) {
    std::fflush(nullptr);
    const pid_t pid = ::fork();
    PACELINE_ASSERT(pid >= 0);
    if (pid == 0) {
      for (std::size_t i = next++; i < count; i = next++) {
        held += body(i) ? 1 : 0;
        std::fflush(nullptr);
      }
      ::_exit(0);
    }
    workers.push_back(pid);
  }
  for (const pid_t pid : workers) ::waitpid(pid, nullptr, 0);
  return count - held;
}

// ---- What there is to strike at ----

struct Counted {
  std::array<std::array<std::uint64_t, kSteps>, kTempos> passes;  // by tempo and step
};

bool count_steps(const Course& course, Counted& counted) {
  for (std::size_t tempo = 0; tempo < kTempos; ++tempo) {
    Plan plan = course.plan();
    plan.tempo = static_cast<Tempo>(tempo);
    const std::string wrong = Watcher(plan).count(counted.passes[tempo]);
    if (wrong.empty()) continue;
    std::printf("%d ranks, %s: %s\n", plan.ranks, course.method->name, wrong.c_str());
    return false;
  }
  return true;
}

// The first pass, and one in a later operation or at another chunk; of pages the middle one and the
// last, too.
std::vector<std::uint64_t> passes_to_strike(Step step, std::uint64_t passes) {
  std::set<std::uint64_t> chosen{1, std::min<std::uint64_t>(passes, 4)};
  if (step == Step::kTouch) chosen = {1, (passes + 1) / 2, passes};
  return {chosen.begin(), chosen.end()};
}

// Of 3 ranks one of them in turn; of 2 all, but that a process ends in two ways.
std::vector<Strike> strikes_at(int ranks, std::size_t number) {
  constexpr Strike kAll[] = {Strike::kStop, Strike::kKill, Strike::kAbsence, Strike::kExit};
  if (ranks > 2) return {kAll[number % std::size(kAll)]};
  return {Strike::kStop, Strike::kAbsence, number % 2 == 0 ? Strike::kKill : Strike::kExit};
}

void add_cases(const Course& course, const Counted& counted, std::vector<Case>& cases) {
  std::size_t number = 0;
  for (std::size_t i = 0; i < kSteps; ++i) {
    const auto step = static_cast<Step>(i);
    const bool first = counted.passes[0][i] >= counted.passes[1][i];
    const std::uint64_t passes = counted.passes[first ? 0 : 1][i];
    if (passes == 0) continue;
    const bool has_end = step != Step::kTouch && step != Step::kCalled;
    for (const std::uint64_t pass : passes_to_strike(step, passes))
      for (const bool behind : {false, true}) {
        if (behind && !has_end) continue;
        for (const Strike strike : strikes_at(course.ranks, number++))
          cases.push_back({&course,
                           first ? Tempo::kVictimIsFirst : Tempo::kVictimIsLast,
                           {.strike = strike, .step = step, .behind = behind, .pass = pass}});
      }
  }
}

std::set<std::pair<Step, bool>> points_of(const std::vector<Case>& cases) {
  std::set<std::pair<Step, bool>> points;
  for (const Case& one : cases) points.emplace(one.aim.step, one.aim.behind);
  return points;
}

int run(std::size_t stride, const char* only) {
  const std::vector<Course> all = courses();
  Counted* const counted = shared_by_processes<Counted>(all.size());
  std::size_t bad =
      count_false(all.size(), [&](std::size_t i) { return count_steps(all[i], counted[i]); });
  std::vector<Case> cases;
  for (std::size_t i = 0; i < all.size(); ++i) add_cases(all[i], counted[i], cases);
  std::set<Step> steps;
  for (const auto& [step, behind] : points_of(cases)) steps.insert(step);
  for (std::size_t i = 0; i < kSteps; ++i) {
    if (steps.contains(static_cast<Step>(i))) continue;
    std::printf("no method comes to '%s'\n", kStepNames[i]);
    ++bad;
  }
  std::printf("%zu worlds in which nobody was struck: %zu strikes to try\n", kTempos * all.size(),
              cases.size());
  if (only != nullptr) {
    const std::size_t number = std::strtoull(only, nullptr, 10);
    return number < cases.size() && holds(cases[number], number) ? 0 : 1;
  }
  const std::size_t tried = (cases.size() + stride - 1) / stride;
  bad += count_false(tried, [&](std::size_t i) {
    const bool held = holds(cases[i * stride], i * stride);
    if ((i + 1) % kReportEvery == 0) std::printf("%zu of %zu strikes\n", i + 1, tried);
    return held;
  });
  std::vector<Case> struck;
  for (std::size_t i = 0; i < tried; ++i) struck.push_back(cases[i * stride]);
  std::printf("%zu strikes at %zu named points of %zu methods: %zu not as promised\n", tried,
              points_of(struck).size(), std::size(kMethods), bad);
  return bad == 0 ? 0 : 1;
}

}  // namespace
}  // namespace paceline::testing

int main(int argc, char** argv) {
  using namespace paceline::testing;
  const auto options = read_options(argc, argv, "struck_at_every_step", "--case");
  // A prime: in turn it meets all steps, strikes and ranks.
  return options ? run(options->quick ? 61 : 1, options->value) : 2;
}
