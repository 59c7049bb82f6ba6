#include "telemetry/flight_ring.h"

#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <type_traits>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "comm/base/try.h"

namespace paceline {
namespace {

constexpr std::uint64_t kMagic = 0x34676E6952746C46;  // "FltRing4"

static_assert(std::is_trivially_copyable_v<FlightRecord>);
static_assert(sizeof(FlightRecord) % sizeof(std::uint64_t) == 0);
using Words = std::array<std::uint64_t, sizeof(FlightRecord) / sizeof(std::uint64_t)>;
constexpr std::size_t word_at(std::size_t offset) { return offset / sizeof(std::uint64_t); }
constexpr std::size_t kBegan = word_at(offsetof(FlightRecord, began_ns));
constexpr std::size_t kEnded = word_at(offsetof(FlightRecord, ended_ns));
constexpr std::size_t kOutcome = word_at(offsetof(FlightRecord, state));
static_assert(offsetof(FlightRecord, signature) == 0 && sizeof(Signature) == 8 * kBegan);
static_assert(kOutcome + 1 == Words().size());

static_assert(std::endian::native == std::endian::little);
constexpr std::size_t kBlamedBit =
    8 * (offsetof(FlightRecord, blamed) - offsetof(FlightRecord, state));
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
  bool read(std::uint64_t its_place, FlightRecord& record) const {
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

Status ring_error(const char* what) {
  return Status(Code::kUnavailable, Scope::kProcess,
                std::string("flight ring: ") + what + ": " + std::strerror(errno));
}

}  // namespace

struct FlightRing::Layout {
  std::uint64_t magic;
  std::uint64_t size;
  std::atomic<std::uint64_t> next;  // records ever started
  Slot slots[kRecords];
  std::atomic<std::int64_t> joining_ns;
  std::atomic<std::int64_t> joined_ns;
  std::atomic<std::int64_t> first_operation_ns;
};

std::string FlightRecord::to_string(TimePoint now) const {
  const std::string text = signature.to_string();
  const bool running = state == FlightState::kStarted;
  const std::int64_t end = running ? now.time_since_epoch().count() : ended_ns;
  char seconds[64];
  std::snprintf(seconds, sizeof seconds, "%.3f s", static_cast<double>(end - began_ns) / 1e9);
  if (running) return text + ", running for " + seconds;
  return text + (state == FlightState::kSucceeded ? ", succeeded after " : ", failed after ") +
         seconds;
}

Result<UniqueFd> FlightRing::create_memory() {
  UniqueFd fd(::memfd_create("paceline-flight", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return ring_error("memfd_create");
  if (::ftruncate(fd.get(), sizeof(Layout)) != 0) return ring_error("ftruncate");
  // A rank that cut the memory would take its reader along (SIGBUS).
  constexpr int kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW;
  if (::fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0) return ring_error("F_ADD_SEALS");
  const std::uint64_t head[2] = {kMagic, sizeof(Layout)};
  if (::pwrite(fd.get(), head, sizeof head, 0) != sizeof head) return ring_error("pwrite");
  return fd;
}

Result<std::unique_ptr<FlightRing>> FlightRing::open(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return ring_error("fstat");
  if (status.st_size != static_cast<off_t>(sizeof(Layout))) {
    return Status(Code::kInvalidArgument, Scope::kProcess,
                  "flight ring: descriptor " + std::to_string(fd) + " is not a ring's memory");
  }
  void* memory = ::mmap(nullptr, sizeof(Layout), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return ring_error("mmap");
  std::unique_ptr<FlightRing> ring(new FlightRing(static_cast<Layout*>(memory), true));
  if (ring->layout_->magic != kMagic || ring->layout_->size != sizeof(Layout)) {
    return Status(Code::kInvalidArgument, Scope::kProcess,
                  "flight ring: the memory was laid out by another version of Paceline");
  }
  return ring;
}

std::unique_ptr<FlightRing> FlightRing::create_private() {
  return std::unique_ptr<FlightRing>(new FlightRing(new Layout{}, false));
}

FlightRing::FlightRing(Layout* layout, bool mapped) : layout_(layout), mapped_(mapped) {}

FlightRing::~FlightRing() {
  if (mapped_) {
    ::munmap(layout_, sizeof(Layout));
  } else {
    delete layout_;
  }
}

std::uint64_t FlightRing::start(const Signature& signature, TimePoint now) {
  const std::uint64_t place = layout_->next.load(std::memory_order_relaxed);
  layout_->slots[place % kRecords].start(place, signature, now.time_since_epoch().count());
  layout_->next.store(place + 1, std::memory_order_release);
  return place;
}

void FlightRing::finish(std::uint64_t place, FlightState state, TimePoint now, int blamed) {
  Slot& slot = layout_->slots[place % kRecords];
  if (slot.place.load(std::memory_order_relaxed) != place) return;
  const std::int64_t ended_ns = now.time_since_epoch().count();
  slot.end(place, ended_ns, outcome_word(state, blamed));
  if (place == 0) layout_->first_operation_ns.store(ended_ns, std::memory_order_relaxed);
}

void FlightRing::note_join(TimePoint began, TimePoint ended) {
  layout_->joining_ns.store(began.time_since_epoch().count(), std::memory_order_relaxed);
  layout_->joined_ns.store(ended.time_since_epoch().count(), std::memory_order_relaxed);
}

FlightMilestones FlightRing::milestones() const {
  return {.joining_ns = layout_->joining_ns.load(std::memory_order_relaxed),
          .joined_ns = layout_->joined_ns.load(std::memory_order_relaxed),
          .first_operation_ns = layout_->first_operation_ns.load(std::memory_order_relaxed)};
}

std::vector<FlightRecord> FlightRing::read() const {
  const std::uint64_t next = layout_->next.load(std::memory_order_acquire);
  std::vector<FlightRecord> records;
  for (std::uint64_t place = next > kRecords ? next - kRecords : 0; place < next; ++place) {
    FlightRecord record;
    if (layout_->slots[place % kRecords].read(place, record)) records.push_back(record);
  }
  return records;
}

}  // namespace paceline
