// A rank that is struck at a step that has a name: it stops, is killed, ends, or stays away there.
#pragma once

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "comm/base/assert.h"
#include "comm/memory_domain.h"

namespace paceline::testing {

enum class Strike : std::uint8_t { kStop, kKill, kExit, kAbsence, kNone };
inline constexpr const char* kStrikes[] = {"stopped", "killed", "ended", "stayed away"};

/// What the protocol asks of its memory (collectives/backend/shm/protocol.h), the counters that it
/// writes each a step of its own; and what this rank does besides.
enum class Step : std::uint8_t {
  kPublish,
  kExplain,
  kWake,
  kFlag,
  kTake,
  kCombine,
  kExpect,
  kArrive,
  kGather,
  kConclude,
  kConclusion,
  kTakeResult,
  kCounter,
  kDone,
  kFilled,
  kReduced,
  kDrained,
  kTouching,
  kUntouching,
  kFence,
  kTakePosts,
  kBeginDirect,
  kMakePiece,
  kStage,
  kReduce,
  kDrain,
  kDrainStaged,
  kTakeStaged,
  kTouch,   ///< a page of another rank's buffers is read or written for the first time in a piece
  kCalled,  ///< the call has returned, and its operation goes on in the background
};
inline constexpr std::size_t kSteps = static_cast<std::size_t>(Step::kCalled) + 1;
inline constexpr const char* kStepNames[kSteps] = {"publish",
                                                   "explain",
                                                   "wake others",
                                                   "flag",
                                                   "take",
                                                   "combine",
                                                   "expect",
                                                   "arrive",
                                                   "gather",
                                                   "conclude",
                                                   "look for the conclusion",
                                                   "take result",
                                                   "counter",
                                                   "done",
                                                   "filled",
                                                   "reduced",
                                                   "drained",
                                                   "touching",
                                                   "touching no more",
                                                   "fence",
                                                   "take posts",
                                                   "begin direct",
                                                   "make piece",
                                                   "stage",
                                                   "reduce",
                                                   "drain",
                                                   "drain staged",
                                                   "take staged",
                                                   "touch a page",
                                                   "called"};

using Passes = std::array<std::atomic<std::uint64_t>, kSteps>;

/// Counts the steps that a rank comes to, and strikes at one of them.
class Striker {
 public:
  struct Aim {
    Strike strike = Strike::kNone;
    Step step = Step::kPublish;
    bool behind = false;     ///< the step, not before it
    std::uint64_t pass = 1;  ///< of the step, counted from arm() on
  };
  /// `passes` are this rank's, `struck` is set before it is, and who stays away does so until
  /// `go_on`. All lie in memory that the processes share.
  Striker(const Aim& aim, Passes& passes, std::atomic<bool>& struck, std::atomic<bool>& go_on)
      : aim_(aim), passes_(passes), struck_(struck), go_on_(go_on) {}

  void arm() { armed_ = true; }
  void come_to(Step step) {
    if (!armed_) return;
    ++passes_[static_cast<std::size_t>(step)];
    strike_at(step, false);
  }
  void leave(Step step) {
    if (armed_) strike_at(step, true);
  }
  /// Every fault takes its time: only where it is to be struck at, or nobody is.
  bool counts_touches() const {
    return armed_ && (aim_.step == Step::kTouch || aim_.strike == Strike::kNone);
  }
  /// Pages are counted anew in each piece.
  void count_touch(std::uint64_t touched) {
    std::atomic<std::uint64_t>& most = passes_[static_cast<std::size_t>(Step::kTouch)];
    if (most < touched) most = touched;
    if (aim_.step == Step::kTouch && aim_.pass == touched) strike();
  }

 private:
  void strike_at(Step step, bool behind) {
    const bool is_aim = step == aim_.step && behind == aim_.behind && step != Step::kTouch;
    if (is_aim && passes_[static_cast<std::size_t>(step)] == aim_.pass) strike();
  }
  // Also in a signal handler.
  void strike() {
    if (aim_.strike == Strike::kNone || struck_.exchange(true)) return;
    if (aim_.strike == Strike::kStop) ::raise(SIGSTOP);
    if (aim_.strike == Strike::kKill) ::raise(SIGKILL);
    if (aim_.strike == Strike::kExit) ::_exit(0);
    const timespec moment{.tv_sec = 0, .tv_nsec = 1'000'000};
    while (aim_.strike == Strike::kAbsence && !go_on_) ::ppoll(nullptr, 0, &moment, nullptr);
  }

  const Aim aim_;
  Passes& passes_;
  std::atomic<bool>& struck_;
  std::atomic<bool>& go_on_;
  bool armed_ = false;
};

/// Strikes in the middle of a copy: the other ranks' buffers are taken from this process, and it
/// gets each page back in the handler of the fault. One in a process; never destroyed.
class TouchTrap {
 public:
  explicit TouchTrap(Striker& striker) : striker_(striker) {
    the_trap() = this;
    struct sigaction action {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    PACELINE_ASSERT(::sigaction(SIGSEGV, &action, nullptr) == 0);
  }
  /// Borrowed, in whole pages; it is there.
  void cover(std::span<std::byte> memory) { covered_.push_back(memory); }

  void set() {
    if (!striker_.counts_touches()) return;
    touched_ = 0;
    for (const std::span<std::byte> one : covered_) protect(one, PROT_NONE);
  }
  void lift() {
    if (!striker_.counts_touches()) return;
    for (const std::span<std::byte> one : covered_) protect(one, PROT_READ | PROT_WRITE);
  }

 private:
  static TouchTrap*& the_trap() {
    static TouchTrap* trap = nullptr;
    return trap;
  }
  static void protect(std::span<std::byte> memory, int access) {
    PACELINE_ASSERT(::mprotect(memory.data(), memory.size(), access) == 0);
  }
  static void on_fault(int /*signal*/, siginfo_t* info, void* /*context*/) {
    const int error = errno;
    if (!the_trap()->give_back(static_cast<std::byte*>(info->si_addr))) ::signal(SIGSEGV, SIG_DFL);
    errno = error;
  }
  bool give_back(std::byte* address) {
    for (const std::span<std::byte> one : covered_) {
      if (address < one.data() || address >= one.data() + one.size()) continue;
      striker_.count_touch(++touched_);
      const auto offset = static_cast<std::size_t>(address - one.data());
      const std::size_t page = offset / MemoryDomain::kPage * MemoryDomain::kPage;
      protect(one.subspan(page, MemoryDomain::kPage), PROT_READ | PROT_WRITE);
      return true;
    }
    return false;
  }

  Striker& striker_;
  std::vector<std::span<std::byte>> covered_;
  std::uint64_t touched_ = 0;
};

}  // namespace paceline::testing
