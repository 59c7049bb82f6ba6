#include "telemetry/flight_ring.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <iterator>
#include <span>
#include <type_traits>

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "comm/base/text.h"
#include "comm/base/try.h"
#include "telemetry/sealed_memory.h"

namespace paceline {
namespace {

constexpr std::uint64_t kMagic = 0x38676E6952746C46;  // "FltRing8"

// What lies in the memory of a record.
struct Stored {
  Signature signature;
  std::int64_t began_ns, ended_ns;
  FlightState state;
  std::int32_t blamed;
};
static_assert(std::is_trivially_copyable_v<Stored>);
static_assert(sizeof(Stored) % sizeof(std::uint64_t) == 0);
using Words = std::array<std::uint64_t, sizeof(Stored) / sizeof(std::uint64_t)>;
constexpr std::size_t word_at(std::size_t offset) { return offset / sizeof(std::uint64_t); }
constexpr std::size_t kBegan = word_at(offsetof(Stored, began_ns));
constexpr std::size_t kEnded = word_at(offsetof(Stored, ended_ns));
constexpr std::size_t kOutcome = word_at(offsetof(Stored, state));
static_assert(offsetof(Stored, signature) == 0 && sizeof(Signature) == 8 * kBegan);
static_assert(kOutcome + 1 == Words().size());

static_assert(std::endian::native == std::endian::little);
constexpr std::size_t kBlamedBit = 8 * (offsetof(Stored, blamed) - offsetof(Stored, state));
std::uint64_t outcome_word(FlightState state, std::int32_t blamed) {
  return static_cast<std::uint64_t>(state) | std::uint64_t{static_cast<std::uint32_t>(blamed)}
                                                 << kBlamedBit;
}

// `version` is odd while the slot is being written. The rest are atomics because a reader may look
// meanwhile: who reads a word of the new record sees the odd version afterwards, by the word's
// release, and leaves the record. No fence stands here, since the thread sanitizer knows none.
struct Slot {
  std::atomic<std::uint32_t> version;
  std::atomic<std::uint64_t> place;
  std::atomic<std::uint64_t> words[Words().size()];

  // Word by word: a load that is wider than the stores before it would wait for them.
  void start(std::uint64_t its_place, const Signature& signature, std::int64_t began_ns) {
    const std::uint32_t odd = open(its_place);
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kBegan; ++i) {
      std::uint64_t word;
      std::memcpy(&word, reinterpret_cast<const std::byte*>(&signature) + i * sizeof word,
                  sizeof word);
      put(i, word);
    }
    put(kBegan, static_cast<std::uint64_t>(began_ns));
    put(kEnded, 0);
    put(kOutcome, outcome_word(FlightState::kStarted, -1));
    version.store(odd + 1, std::memory_order_release);
  }

  void end(std::uint64_t its_place, std::int64_t ended_ns, std::uint64_t outcome) {
    const std::uint32_t odd = open(its_place);
    put(kEnded, static_cast<std::uint64_t>(ended_ns));
    put(kOutcome, outcome);
    version.store(odd + 1, std::memory_order_release);
  }

  // False when the record of `its_place` is not there: torn, overwritten or never written.
  bool read(std::uint64_t its_place, Stored& record) const {
    Words copy;
    const std::uint32_t before = version.load(std::memory_order_acquire);
    if (before == 0 || before % 2 != 0) return false;
    if (place.load(std::memory_order_acquire) != its_place) return false;
    for (std::size_t i = 0; i < copy.size(); ++i)
      copy[i] = words[i].load(std::memory_order_acquire);
    if (version.load(std::memory_order_relaxed) != before) return false;
    std::memcpy(static_cast<void*>(&record), copy.data(), sizeof record);
    return true;
  }

 private:
  std::uint32_t open(std::uint64_t its_place) {
    // A writer that died in the middle left the version odd.
    const std::uint32_t odd = version.load(std::memory_order_relaxed) | 1;
    version.store(odd, std::memory_order_relaxed);
    place.store(its_place, std::memory_order_release);
    return odd;
  }
  void put(std::size_t i, std::uint64_t word) { words[i].store(word, std::memory_order_release); }
};

}  // namespace

// Those behind the first change hands: `version` is odd meanwhile, and records before `first` are
// of who had it before.
struct alignas(64) FlightRing::Part {
  Slot slots[kRecords];
  std::atomic<std::int64_t> writer;  // process; 0: nobody's
  std::atomic<std::uint32_t> version;
  std::atomic<std::uint64_t> name[(kMostName + 1) / sizeof(std::uint64_t)];
  std::atomic<std::uint64_t> group_id;
  std::atomic<std::int32_t> group_size;
  std::atomic<std::uint64_t> first;
  std::atomic<std::uint64_t> next;  // records ever started
  std::atomic<std::int64_t> joining_ns;
  std::atomic<std::int64_t> joined_ns;
  std::atomic<std::int64_t> first_operation_ns;
  std::atomic<std::uint32_t> held_at;    // 1 + the number of an operation; 0: none
  std::atomic<std::uint32_t> exit_code;  // held_at == kExits

  static constexpr std::uint32_t kExits = UINT32_MAX;  // at every operation

  void hold(std::uint32_t at) {
    if (held_at.load(std::memory_order_relaxed) == kExits) return;
    held_at.store(at, std::memory_order_release);
    ::syscall(SYS_futex, &held_at, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }
  void exit_or_wait_at(std::uint32_t at, TimePoint until) {
    wait_while_held_at(at, until);
    if (held_at.load(std::memory_order_acquire) == kExits)
      ::_exit(static_cast<int>(exit_code.load(std::memory_order_relaxed)));
  }
  // A signal may end the wait early: then it waits anew. `until`: CLOCK_MONOTONIC, as the kernel
  // takes it for this operation.
  void wait_while_held_at(std::uint32_t at, TimePoint until) {
    const auto since_start = until.time_since_epoch();
    const auto seconds = std::chrono::floor<std::chrono::seconds>(since_start);
    const timespec deadline{.tv_sec = seconds.count(), .tv_nsec = (since_start - seconds).count()};
    while (held_at.load(std::memory_order_acquire) == at) {
      const long waited = ::syscall(SYS_futex, &held_at, FUTEX_WAIT_BITSET, at, &deadline, nullptr,
                                    FUTEX_BITSET_MATCH_ANY);
      if (waited != 0 && errno != EINTR && errno != EAGAIN) return;
    }
  }

  // By the process that has become its writer. The order to exit stays.
  void begin_anew(std::string_view group, OperationBook& book) {
    const std::uint32_t odd = version.load(std::memory_order_relaxed) | 1;
    version.store(odd, std::memory_order_relaxed);
    char text[kMostName + 1] = {};
    group.copy(text, kMostName);
    for (std::size_t i = 0; i < std::size(name); ++i) {
      std::uint64_t word;
      std::memcpy(&word, text + i * sizeof word, sizeof word);
      name[i].store(word, std::memory_order_release);
    }
    first.store(next.load(std::memory_order_relaxed), std::memory_order_release);
    group_id.store(0, std::memory_order_release);
    book.clear();
    version.store(odd + 1, std::memory_order_release);
  }

  std::string group_name() const {
    char text[kMostName + 1];
    for (std::size_t i = 0; i < std::size(name); ++i) {
      const std::uint64_t word = name[i].load(std::memory_order_acquire);
      std::memcpy(text + i * sizeof word, &word, sizeof word);
    }
    return printable({text, ::strnlen(text, kMostName)});
  }

  std::optional<GroupOperations> read(const OperationBook& book) const {
    const std::uint32_t before = version.load(std::memory_order_acquire);
    if (next.load(std::memory_order_acquire) == 0 || before % 2 != 0) return std::nullopt;
    GroupOperations found{.group = group_name(),
                          .id = group_id.load(std::memory_order_acquire),
                          .size = group_size.load(std::memory_order_acquire),
                          .totals = book.totals(),
                          .samples = book.samples()};
    if (version.load(std::memory_order_relaxed) != before) return std::nullopt;
    return found;
  }

  void read(std::vector<FlightRecord>& records) const {
    const std::uint64_t end = next.load(std::memory_order_acquire);
    const std::uint32_t before = version.load(std::memory_order_acquire);
    if (end == 0 || before % 2 != 0) return;
    const std::string group = group_name();
    const std::uint64_t id = group_id.load(std::memory_order_acquire);
    const int size = group_size.load(std::memory_order_acquire);
    const std::size_t kept = records.size();
    std::uint64_t place = end > kRecords ? end - kRecords : 0;
    for (place = std::max(place, first.load(std::memory_order_acquire)); place < end; ++place) {
      Stored one;
      if (slots[place % kRecords].read(place, one))
        records.push_back(
            {one.signature, one.began_ns, one.ended_ns, one.state, one.blamed, group, id, size});
    }
    if (version.load(std::memory_order_relaxed) != before) records.resize(kept);
  }
};

struct FlightRing::Layout {
  std::uint64_t magic;
  std::uint64_t size;
  Part parts[kParts];
  OperationBook books[kParts];  // of the part of the same number
};

std::string FlightRecord::name() const {
  std::string text = signature.to_string();
  if (!group.empty()) text.append(" of ").append(group);
  return text;
}

std::string FlightRecord::to_string(TimePoint now) const {
  const std::string text = name();
  const bool running = state == FlightState::kStarted;
  const std::int64_t end = running ? now.time_since_epoch().count() : ended_ns;
  char seconds[64];
  std::snprintf(seconds, sizeof seconds, "%.3f s", static_cast<double>(end - began_ns) / 1e9);
  if (running) return text + ", running for " + seconds;
  return text + (state == FlightState::kSucceeded ? ", succeeded after " : ", failed after ") +
         seconds;
}

SealedLayout FlightRing::layout() { return {"flight ring", kMagic, sizeof(Layout)}; }

Result<UniqueFd> FlightRing::create_memory() { return create_sealed_memory(layout()); }

Result<std::unique_ptr<FlightRing>> FlightRing::open(int fd) {
  PACELINE_TRY_ASSIGN(void* const memory, map_sealed_memory(fd, layout()));
  auto* const layout = static_cast<Layout*>(memory);
  return std::unique_ptr<FlightRing>(new FlightRing(layout, layout->parts, layout->books));
}

Result<std::unique_ptr<FlightRing>> FlightRing::open_for(int fd, std::string_view group) {
  PACELINE_TRY_ASSIGN(auto ring, open(fd));
  if (ring->claim_part(group)) return ring;
  return Status(Code::kUnavailable, Scope::kProcess,
                "flight ring: " + std::to_string(kParts - 1) +
                    " groups of a rank besides the world can have one");
}

// One whose writer has ended without a word is free.
bool FlightRing::claim_part(std::string_view group) {
  for (Part& part : std::span(layout_->parts).subspan(1)) {
    std::int64_t writer = part.writer.load(std::memory_order_relaxed);
    const bool is_alive =
        writer != 0 && (::kill(static_cast<pid_t>(writer), 0) == 0 || errno != ESRCH);
    if (is_alive || !part.writer.compare_exchange_strong(writer, ::getpid())) continue;
    part_ = &part;
    book_ = &layout_->books[&part - layout_->parts];
    is_claimed_ = true;
    part.begin_anew(group, *book_);
    return true;
  }
  return false;
}

std::unique_ptr<FlightRing> FlightRing::create_private() {
  return std::unique_ptr<FlightRing>(new FlightRing(nullptr, new Part{}, nullptr));
}

FlightRing::~FlightRing() {
  if (layout_ == nullptr) {
    delete part_;
    return;
  }
  if (is_claimed_) part_->writer.store(0, std::memory_order_release);
  ::munmap(layout_, sizeof(Layout));
}

std::uint64_t FlightRing::start(const Signature& signature, TimePoint now) {
  const std::uint64_t place = part_->next.load(std::memory_order_relaxed);
  part_->slots[place % kRecords].start(place, signature, now.time_since_epoch().count());
  part_->next.store(place + 1, std::memory_order_release);
  const auto at = static_cast<std::uint32_t>(signature.sequence + 1);
  const std::uint32_t held = part_->held_at.load(std::memory_order_relaxed);
  // `at` is 0 after 2^32 operations.
  if (held != 0 && (held == at || held == Part::kExits)) [[unlikely]]
    part_->exit_or_wait_at(at, now + kMaxHold);
  return place;
}

void FlightRing::finish(std::uint64_t place, FlightState state, TimePoint now, int blamed) {
  Slot& slot = part_->slots[place % kRecords];
  if (slot.place.load(std::memory_order_relaxed) != place) return;
  const std::int64_t ended_ns = now.time_since_epoch().count();
  slot.end(place, ended_ns, outcome_word(state, blamed));
  if (place == 0 && state == FlightState::kSucceeded)
    part_->first_operation_ns.store(ended_ns, std::memory_order_relaxed);
}

void FlightRing::count(const Signature& signature, const OperationTimes& times) {
  if (book_ != nullptr) book_->note(signature, times);
}

void FlightRing::note_group(std::uint64_t id, int size) {
  part_->group_size.store(size, std::memory_order_release);
  part_->group_id.store(id, std::memory_order_release);
}

void FlightRing::note_joining(TimePoint began) {
  part_->joining_ns.store(began.time_since_epoch().count(), std::memory_order_relaxed);
}

void FlightRing::note_join(TimePoint began, TimePoint ended) {
  note_joining(began);
  part_->joined_ns.store(ended.time_since_epoch().count(), std::memory_order_relaxed);
}

void FlightRing::hold_at(std::optional<std::uint64_t> operation) {
  part_->hold(operation ? static_cast<std::uint32_t>(*operation + 1) : 0);
}

void FlightRing::exit_at_next(int exit_code) {
  for (Part& part : parts()) {
    part.exit_code.store(static_cast<std::uint32_t>(exit_code), std::memory_order_relaxed);
    part.hold(Part::kExits);
  }
}

FlightMilestones FlightRing::milestones() const {
  return {.joining_ns = part_->joining_ns.load(std::memory_order_relaxed),
          .joined_ns = part_->joined_ns.load(std::memory_order_relaxed),
          .first_operation_ns = part_->first_operation_ns.load(std::memory_order_relaxed)};
}

std::span<FlightRing::Part> FlightRing::parts() const {
  if (layout_ == nullptr) return {part_, 1};
  return layout_->parts;
}

std::vector<FlightRecord> FlightRing::read() const {
  std::vector<FlightRecord> records;
  for (const Part& part : parts()) part.read(records);
  std::ranges::stable_sort(records, {}, &FlightRecord::began_ns);
  return records;
}

std::vector<GroupOperations> FlightRing::operations() const {
  std::vector<GroupOperations> found;
  if (layout_ == nullptr) return found;
  for (std::size_t i = 0; i < kParts; ++i)
    if (auto group = layout_->parts[i].read(layout_->books[i]); group && !group->totals.empty())
      found.push_back(*std::move(group));
  return found;
}

}  // namespace paceline
