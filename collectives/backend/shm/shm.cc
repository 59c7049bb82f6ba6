#include "collectives/backend/shm/shm.h"

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
// Once an operation a rank keeps its CPU so long where no other rank needs it: others of this CPU
// may have something else to do.
constexpr Duration kStay = std::chrono::microseconds(100);
// Once both are over, a rank that is not stopped has made its piece, also where it shares this CPU.
// Yields alone are no bound: 2000 beside 12 busy processes on 2 CPUs took more than 40 s.
constexpr int kPieceYields = 20;
constexpr Duration kPieceTime = std::chrono::milliseconds(20);

shm::MethodTerms terms_of(const shm::Layout& layout, const ShmBackend::Options& options) {
  return {.ranks = layout.ranks(),
          .shares_cpus = options.shares_cpus,
          .has_buffers = options.arenas.own != nullptr,
          .post_bytes = layout.post_bytes(),
          .chunk_bytes = layout.chunk_bytes(),
          .forced = options.method,
          .measured = options.measured};
}

// Ranks that divide an operation differently would read past each other. Chunks are whole pairs of
// lines, which leaves the low bits.
std::uint32_t plan_of(const shm::Layout& layout, const ShmBackend::Options& options) {
  const std::uint32_t method = options.method ? 1 + static_cast<std::uint32_t>(*options.method) : 0;
  return static_cast<std::uint32_t>(layout.chunk_bytes()) | method << 1 |
         (options.shares_cpus ? 1 : 0);
}

std::unique_ptr<shm::MethodReport> report_of(const shm::Layout& layout,
                                             const ShmBackend::Options& options) {
  if (options.log == nullptr || options.rank != 0) return nullptr;
  const bool says_nothing =
      options.says == shm::MethodReport::Says::kWarnings && !options.method.has_value();
  if (says_nothing) return nullptr;
  return std::make_unique<shm::MethodReport>(options.log, options.says, terms_of(layout, options));
}

}  // namespace

ShmBackend::Choices ShmBackend::choices_of(const shm::MethodTerms& terms) {
  Choices choices;
  for (const OperationKind kind : kOperationKinds)
    choices[static_cast<std::size_t>(kind)] = shm::choose(kind, terms);
  return choices;
}

ShmBackend::ShmBackend(const shm::Layout& layout, std::vector<Ringer> bells, Transport& transport,
                       const Options& options)
    : transport_(transport),
      clock_(options.clock),
      linger_(options.linger),
      shares_cpus_(options.shares_cpus),
      rank_(options.rank),
      layout_(layout),
      memory_(layout, options.rank, std::move(bells), options.registered,
              shm::uses_buffers(terms_of(layout, options)) ? options.arenas : Arenas{}),
      protocol_(options.rank, layout.ranks()),
      plan_(plan_of(layout, options)),
      report_(report_of(layout, options)),
      choices_(choices_of(terms_of(layout, options))) {
  if (shares_cpus_) memory_.touch_posts();
}

std::optional<std::size_t> ShmBackend::most_bytes(OperationKind kind) const {
  if (shm::flow_of(kind) != shm::Flow::kToEach) return SIZE_MAX;
  const bool has_own_result = kind == OperationKind::kReduceScatter ||
                              kind == OperationKind::kAllGather || kind == OperationKind::kAllToAll;
  return has_own_result ? std::optional(SIZE_MAX) : std::nullopt;
}

Status ShmBackend::start(OperationRequest& request) {
  const Signature& signature = request.signature;
  const shm::Choice& choice = choices_[static_cast<std::size_t>(signature.kind)];
  way_ = &choice.way(shm::Memory::contribution_bytes(signature, layout_.ranks()));
  request.set_plan(plan_);
  look_at_ = TimePoint::max();
  const std::uint64_t chunks =
      memory_.begin(request, *way_, choice.for_all, protocol_.first_chunk());
  const auto digest = static_cast<std::uint32_t>(request.next_history >> 32);
  protocol_.start(shm::form_of(choice, *way_, signature.root, chunks, digest, shares_cpus_));
  ended_ = false;
  // The contribution, if there is a place for it; nothing can differ or end here.
  if (protocol_.contributes()) protocol_.contribute(memory_);
  return {};
}

void ShmBackend::report() {
  const Signature& signature = memory_.signature();
  const shm::Method method = way_->is_short() ? way_->ordinary : memory_.method_of_long();
  report_->note({.kind = signature.kind,
                 .bytes = shm::Memory::contribution_bytes(signature, layout_.ranks()),
                 .method = method},
                choices_[static_cast<std::size_t>(signature.kind)]);
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
    if (yielded == 0 && !others_need_this_cpu()) {
      look_for(kStay);
      if (ended_) return true;
    }
    ::sched_yield();
  }
}

// Not where all ranks that were last on this CPU have contributed to an exchange: who yields to
// them only comes back later. All-reduce of 4 B on 2 CPUs, whose change of process takes 5 to 8 us:
// 4 ranks took 6.6 us instead of 9.7, 8 ranks 30 instead of 34. Of a broadcast, those who have not
// taken it need the CPU although nobody waits for them: 4 ranks took 16 us instead of 3.8.
bool ShmBackend::others_need_this_cpu() {
  if (!protocol_.awaits_all()) return true;
  memory_.set_cpu(static_cast<std::uint64_t>(::sched_getcpu()));
  for (int rank = 0; rank < layout_.ranks(); ++rank) {
    const bool is_here = rank != rank_ && memory_.is_on_same_cpu(rank);
    if (is_here && protocol_.holds_up(memory_, rank)) return true;
  }
  return false;
}

// Once ranks have met, each of them may have pieces of a long operation to make.
void ShmBackend::look_for(Duration time) {
  const Deadline deadline = Deadline::after(clock_, time);
  do {
    advance(kLooks);
    _mm_pause();
  } while (!ended_ && protocol_.awaits_all() && !deadline.passed(clock_.now()));
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
  const Deadline deadline = Deadline::after(clock_, kPieceTime);
  for (int yielded = 0; yielded < kPieceYields || !deadline.passed(clock_.now()); ++yielded) {
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
