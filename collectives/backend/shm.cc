#include "collectives/backend/shm.h"

#include <algorithm>
#include <utility>

#include <immintrin.h>
#include <sched.h>

#include "comm/base/assert.h"

namespace paceline {
namespace {

constexpr Duration kLook = std::chrono::milliseconds(20);
// Looks between two at the clock; and how long there is no pause between them, which the sibling
// thread could use.
constexpr int kLooks = 16;
constexpr Duration kKeen = std::chrono::nanoseconds(500);
// Once every rank of a CPU has had its turn, all have contributed, unless somebody is late.
constexpr int kYields = 20;
// Until then a rank that is not stopped has made its piece, also where it shares this CPU.
constexpr int kPieceYields = 2000;

bool is_broadcast(OperationKind kind) { return kind == OperationKind::kBroadcast; }

// May one rank make the result for all?
bool has_one_result(OperationKind kind) {
  return kind == OperationKind::kAllReduce || kind == OperationKind::kBarrier ||
         kind == OperationKind::kClose;
}

shm::Flow flow_of(OperationKind kind) {
  if (is_broadcast(kind)) return shm::Flow::kFromRoot;
  return has_one_result(kind) ? shm::Flow::kShared : shm::Flow::kToEach;
}

}  // namespace

ShmBackend::ShmBackend(const shm::Layout& layout, std::vector<Doorbell*> bells,
                       Transport& transport, const Options& options)
    : transport_(transport),
      linger_(options.linger),
      shares_cpus_(options.shares_cpus),
      rank_(options.rank),
      layout_(layout),
      memory_(layout, options.rank, std::move(bells), options.registered, options.arenas),
      protocol_(options.rank, layout.ranks()) {}

std::optional<std::size_t> ShmBackend::most_bytes(OperationKind kind) const {
  if (has_one_result(kind) || is_broadcast(kind)) return SIZE_MAX;
  const bool has_own_result = kind == OperationKind::kReduceScatter ||
                              kind == OperationKind::kAllGather || kind == OperationKind::kAllToAll;
  return has_own_result ? std::optional(SIZE_MAX) : std::nullopt;
}

Status ShmBackend::start(OperationRequest& request) {
  const Signature& signature = request.signature;
  // Ranks that divide an operation differently would read past each other.
  request.set_plan(static_cast<std::uint32_t>(layout_.chunk_bytes()) | (shares_cpus_ ? 1 : 0));
  look_at_ = TimePoint::max();
  const bool may_gather = shares_cpus_ && has_one_result(signature.kind);
  const std::size_t most_short = may_gather ? layout_.post_bytes() : layout_.short_bytes();
  const std::uint64_t chunks = memory_.begin(request, most_short, protocol_.first_chunk());
  // A root that cannot stage all of it waits for the others anyway.
  const bool everybody = !is_broadcast(signature.kind) || chunks > shm::kChunks;
  protocol_.start({.everybody = everybody,
                   .root = std::max(signature.root, 0),
                   .chunks = chunks,
                   .digest = static_cast<std::uint32_t>(request.next_history >> 32),
                   .gathered = may_gather && chunks == 0,
                   .flow = flow_of(signature.kind)});
  ended_ = false;
  // The contribution, if there is a place for it; nothing can differ or end here.
  if (protocol_.contributes()) protocol_.contribute(memory_);
  return {};
}

bool ShmBackend::linger(const Clock& clock, TimePoint& now) {
  if (shares_cpus_) {
    if (!yield_until_end()) return false;
    now = clock.now();
  } else if (!look_until_end(clock, now)) {
    return false;
  }
  return outcome_.ok();
}

// The clock is looked at while there is nothing else to do; an operation that ends between two
// looks is said to have ended at the first.
bool ShmBackend::look_until_end(const Clock& clock, TimePoint& now) {
  const TimePoint begin = now;
  while (true) {
    advance(kLooks);
    if (ended_) return true;
    if (now - begin >= linger_) return false;
    if (now - begin > kKeen) _mm_pause();
    now = clock.now();
  }
}

bool ShmBackend::yield_until_end() {
  for (int yielded = 0;; ++yielded) {
    advance(1);
    if (ended_ || yielded == kYields) return ended_;
    ::sched_yield();
  }
}

bool ShmBackend::drive(TimePoint now) {
  if (ended_) return false;
  protocol_.explain(memory_);
  if (advance(1)) {
    look_at_ = TimePoint::max();
    return true;
  }
  if (look_at_ == TimePoint::max()) look_at_ = now + kLook;
  if (now < look_at_) return false;
  look_at_ = now + kLook;
  look_after_peer();
  return ended_;
}

// True if anything moved; until it has looked in vain `looks` times in all.
bool ShmBackend::advance(int looks) {
  bool moved = false;
  while (true) {
    switch (protocol_.step(memory_)) {
      case shm::Progress::kMoved:
        moved = true;
        continue;
      case shm::Progress::kWaits:
        if (--looks == 0) return moved;
        continue;
      case shm::Progress::kDiffers:
        differ();
        return true;
      case shm::Progress::kEnded:
        ended_ = true;
        return true;
    }
  }
}

void ShmBackend::differ() {
  ended_ = true;
  protocol_.explain(memory_);
  const int peer = protocol_.awaited();
  disagreement_ = {.peer = peer, .theirs = memory_.signature_of(peer, protocol_.operation())};
  outcome_ = Status(Code::kMismatch, Scope::kGroup, "ranks called different operations");
}

// Who is at a piece soon has it: unless it has been stopped, or lost. Then it may go on with old
// memory, and the buffers go on with new.
void ShmBackend::give_up() {
  shm::revoke(memory_);
  for (int yielded = 0; yielded < kPieceYields; ++yielded) {
    if (!shm::is_touched(memory_, rank_, layout_.ranks())) return;
    ::sched_yield();
  }
  const Status left = memory_.leave_buffers();
  PACELINE_ASSERT(left.ok());  // it must not go on with memory that somebody else writes
}

// What a lost rank wrote before is still there, and may be all that was waited for.
void ShmBackend::look_after_peer() {
  for (const int rank : awaited()) {
    const Status loss = transport_.loss(rank);
    if (loss.ok()) continue;
    if (advance(1)) return;
    ended_ = true;
    outcome_ = loss;
    return;
  }
}

std::vector<int> ShmBackend::awaited() const {
  return ended_ ? std::vector<int>() : protocol_.holding_up(memory_);
}

}  // namespace paceline
