// A rank of a world of processes in which one is struck at a step (strikes.h): it repeats one call
// until that fails, writes into its arrays, and sees to it that nobody else does.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <paceline/communicator.h>

#include "collectives/backend/shm/shm.h"
#include "comm/base/clock.h"
#include "comm/base/try.h"
#include "comm/poll_engine.h"
#include "comm/shared_segment.h"
#include "comm/transport/shm.h"
#include "tests/acceptance/zero_copy/strikes.h"
#include "tests/acceptance/zero_copy/struck_backend.h"
#include "tests/harness/calls.h"
#include "tests/harness/tcp_world.h"

namespace paceline::testing {

inline constexpr int kMostRanks = 3;
// On top of the deadline, since other worlds use the machine too.
inline constexpr std::chrono::seconds kGrace{20};
inline constexpr std::chrono::seconds kPatience{60};
inline constexpr std::byte kCanary{0xC5};
inline constexpr std::size_t kDryCalls = 6;

/// Who is late decides who waits, and who is the last to arrive.
enum class Tempo : std::uint8_t { kVictimIsFirst, kVictimIsLast };
inline constexpr std::size_t kTempos = 2;

struct Plan {
  Call call;
  bool gathers = false;
  int ranks = 2;
  int victim = 0;
  Tempo tempo = Tempo::kVictimIsFirst;
  std::chrono::milliseconds timeout{};
  Striker::Aim aim;  // of nothing: the steps of a few calls are counted
};

/// What a rank says to whoever watches the world.
enum class Phase : int { kJoining, kRunning, kFailed, kWrong, kRight };
inline constexpr const char* kPhaseNames[] = {"joining", "running", "failed", "wrong", "right"};

/// In memory of all processes of a world.
struct Shared {
  std::atomic<bool> struck{false};
  std::atomic<bool> go_on{false};  // who stays away
  std::atomic<bool> look{false};   // at the canaries
  Passes passes{};                 // the victim's
  struct Rank {
    std::atomic<pid_t> pid{0};  // once `arena` is there
    int arena = -1;             // its descriptor
    std::atomic<Phase> phase{Phase::kJoining};
    std::atomic<std::size_t> calls{0};  // begun
    std::atomic<bool> was_late{false};
    char text[400] = "";
  } ranks[kMostRanks];
};

inline bool await(const std::function<bool()>& condition, Duration patience) {
  const SystemClock clock;
  const Deadline deadline = Deadline::after(clock, patience);
  const timespec moment{.tv_sec = 0, .tv_nsec = 300'000};
  while (!condition()) {
    if (deadline.passed(clock.now())) return false;
    ::ppoll(nullptr, 0, &moment, nullptr);
  }
  return true;
}

/// What a world shares but for that: made before its processes.
class StruckWorld {
 public:
  explicit StruckWorld(int ranks)
      : segment_(std::make_shared<SharedSegment>(
            SharedSegment::create_nameless(backend_offset(ranks) +
                                           shm::Layout::bytes_for(ranks, kChunkBytes))
                .value())) {}

  /// In the process of `rank`, which stays in it to its end. The victim's striker and trap are
  /// borrowed; the others have none.
  Result<Communicator> enter(const Plan& plan, int rank, Shared& shared, Striker* striker,
                             TouchTrap* trap) const {
    Group group{.name = "struck"};
    group.rank = rank;
    group.members.assign(static_cast<std::size_t>(plan.ranks), {.host = "local"});
    PACELINE_TRY(segment_->take_place(rank));
    auto arenas = exchange_arenas(plan, rank, shared, trap);
    PACELINE_TRY(arenas.status());
    PACELINE_TRY_ASSIGN(auto engine, PollEngine::create(PollEngine::options_for(plan.ranks)));
    PACELINE_TRY_ASSIGN(auto room,
                        HostRoom::enter(engine, {.segment = segment_},
                                        {.places = plan.ranks, .own = rank, .arenas = *arenas}));
    const SegmentPart rings{.segment = segment_, .offset = HostRoom::bytes_for(plan.ranks)};
    PACELINE_TRY_ASSIGN(
        auto transport,
        make_shm_transport(std::move(room), group, {.part = rings, .ring_bytes = kRingBytes}));
    std::vector<Ringer> bells;
    for (int peer = 0; peer < plan.ranks; ++peer) bells.push_back(transport->ringer(peer));
    const shm::Layout layout(segment_->memory().data() + backend_offset(plan.ranks), plan.ranks,
                             kChunkBytes);
    std::unique_ptr<CollectiveBackend> backend;
    if (striker != nullptr) {
      backend = std::make_unique<StruckBackend>(layout, std::move(bells), *transport,
                                                StruckBackend::Options{.rank = rank,
                                                                       .clock = engine->clock(),
                                                                       .shares_cpus = plan.gathers,
                                                                       .arenas = *arenas},
                                                *striker, *trap);
    } else {
      backend = std::make_unique<ShmBackend>(layout, std::move(bells), *transport,
                                             ShmBackend::Options{.rank = rank,
                                                                 .clock = engine->clock(),
                                                                 .shares_cpus = plan.gathers,
                                                                 .arenas = *arenas});
    }
    return communicator_over(std::move(engine), std::move(transport), {.timeout = kPatience},
                             std::move(backend));
  }

 private:
  static constexpr std::size_t kRingBytes = 8 * 1024;
  // As small as it goes, so that operations of moderate length go round the rings of chunks.
  static constexpr std::size_t kChunkBytes = 4096;

  static std::size_t backend_offset(int ranks) {
    const std::size_t bytes =
        HostRoom::bytes_for(ranks) + ShmTransport::bytes_for(ranks, kRingBytes);
    return (bytes + shm::kPairBytes - 1) / shm::kPairBytes * shm::kPairBytes;
  }
  static Result<Arenas> exchange_arenas(const Plan& plan, int rank, Shared& shared,
                                        TouchTrap* trap) {
    Arenas arenas{.own = &MemoryDomain::of_process(), .views = {}};
    PACELINE_TRY_ASSIGN(shared.ranks[rank].arena, arenas.own->file());
    shared.ranks[rank].pid = ::getpid();
    for (int peer = 0; peer < plan.ranks; ++peer) {
      const Shared::Rank& there = shared.ranks[peer];
      if (!await([&] { return there.pid != 0; }, kPatience))
        return Status(Code::kTimeout, Scope::kGroup, "a rank did not come");
      const std::string path =
          "/proc/" + std::to_string(there.pid) + "/fd/" + std::to_string(there.arena);
      UniqueFd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
      struct stat found {};
      if (!file || ::fstat(file.get(), &found) != 0)
        return Status(Code::kUnavailable, Scope::kProcess, "cannot open " + path);
      PACELINE_TRY_ASSIGN(auto view, ArenaView::open(std::move(file)));
      if (trap != nullptr && peer != rank)
        trap->cover({view->at(0), static_cast<std::size_t>(found.st_size)});
      arenas.views.push_back(std::move(view));
    }
    return arenas;
  }

  const std::shared_ptr<SharedSegment> segment_;  // owners: see ShmPlace
};

/// In a process of its own.
class Player {
 public:
  Player(const Plan& plan, int rank, const StruckWorld& place, Shared& shared)
      : plan_(plan),
        rank_(rank),
        place_(place),
        shared_(shared),
        own_(shared.ranks[rank]),
        striker_(plan.aim, shared.passes, shared.struck, shared.go_on),
        trap_(striker_) {}

  void play() {
    const std::string wrong = run();
    std::snprintf(own_.text, sizeof own_.text, "%s", wrong.c_str());
    own_.phase = wrong.empty() ? Phase::kRight : Phase::kWrong;
  }

 private:
  bool is_victim() const { return rank_ == plan_.victim; }
  bool is_dry() const { return plan_.aim.strike == Strike::kNone; }

  std::string run() {
    auto joined = place_.enter(plan_, rank_, shared_, is_victim() ? &striker_ : nullptr, &trap_);
    if (!joined.ok()) return "could not join: " + joined.status().to_string();
    own_.phase = Phase::kRunning;
    // A root need not meet anybody in its first calls: it could be struck before others have come.
    if (!await([&] { return all_have_joined(); }, kPatience)) return "the others did not come";
    const Status ended = repeat(*joined);
    if (ended.code() == Code::kInternal) return ended.to_string();
    if (is_dry()) return ended.ok() ? "" : ended.to_string();
    if (is_victim()) return {};
    if (ended.culprit().rank != plan_.victim || !shared_.struck) {
      own_.was_late = ended.code() == Code::kTimeout;
      return "blames another: " + ended.to_string();
    }
    for (const std::span<std::byte> memory : last_->memory()) std::ranges::fill(memory, kCanary);
    own_.phase = Phase::kFailed;
    if (!await([&] { return shared_.look.load(); }, kPatience)) return "forgotten";
    for (const std::span<std::byte> memory : last_->memory()) {
      const auto others = std::ranges::count_if(memory, [](auto each) { return each != kCanary; });
      if (others > 0)
        return std::to_string(others) +
               " bytes were written after the operation had ended: " + ended.to_string();
    }
    return {};
  }

  bool all_have_joined() const {
    return std::all_of(shared_.ranks, shared_.ranks + plan_.ranks,
                       [](const Shared::Rank& rank) { return rank.phase != Phase::kJoining; });
  }

  // The first call has all the time that it needs.
  Status repeat(Communicator& world) {
    for (std::size_t number = 0; !is_dry() || number < kDryCalls; ++number) {
      last_.emplace(plan_.call, number, rank_, plan_.ranks);
      own_.calls = number + 1;
      if (number == 1) striker_.arm();
      const bool is_late = is_victim() == (plan_.tempo == Tempo::kVictimIsLast);
      if (is_late) await([] { return false; }, std::chrono::milliseconds(1));
      PACELINE_TRY(is_victim() ? check_and_be_struck(world) : last_->check(world));
      if (number == 0 && !is_dry()) PACELINE_TRY(world.set_timeout(plan_.timeout));
    }
    return {};
  }

  // Messages go by no backend of the victim's own.
  Status check_and_be_struck(Communicator& world) {
    if (plan_.call.kind != OperationKind::kExchange) return last_->check(world);
    trap_.set();
    Status ended;
    if (plan_.call.asynchronous) {
      last_->start(world);
      striker_.come_to(Step::kCalled);
      ended = last_->wait();
    } else {
      ended = last_->run(world);
    }
    trap_.lift();
    return ended.ok() ? last_->verdict() : ended;
  }

  const Plan& plan_;
  const int rank_;
  const StruckWorld& place_;
  Shared& shared_;
  Shared::Rank& own_;
  Striker striker_;
  TouchTrap trap_;
  std::optional<MadeCall> last_;
};

}  // namespace paceline::testing
