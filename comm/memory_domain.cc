#include "comm/memory_domain.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include <fcntl.h>
#include <linux/falloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "comm/base/system_error.h"
#include "comm/base/try.h"

namespace paceline {
namespace {

// An address space holds the arenas of 64 ranks of this length.
constexpr std::size_t kMostArena = std::size_t{1} << 40;
constexpr std::size_t kLeastArena = std::size_t{64} << 20;

std::size_t memory_of_machine() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  return pages > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(page) : kLeastArena;
}

// A file that is made longer than this kills the process with SIGXFSZ.
std::size_t longest_file() {
  struct rlimit limit {};
  return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 ? limit.rlim_cur : SIZE_MAX;
}

constexpr std::size_t rounded_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

Status unavailable(const std::string& what) {
  return Status(Code::kUnavailable, Scope::kProcess,
                what + " for buffers that processes share: " + error_text(errno));
}

Status no_room(std::size_t bytes, int error) {
  return Status(
      Code::kExhausted, Scope::kProcess,
      "cannot allocate a buffer of " + std::to_string(bytes) + " bytes: " +
          (error != 0 ? error_text(error) : "the buffers of this process leave no room for it"));
}

Status not_allocated() {
  return Status(Code::kInvalidArgument, Scope::kOperation,
                "the address is not the beginning of an allocated buffer");
}

}  // namespace

MemoryDomain& MemoryDomain::of_process() {
  // Buffers may be freed by the last destructor of a program.
  static MemoryDomain* const domain = [] {
    auto* const made = new MemoryDomain(memory_of_machine());
    // If that fails, a child that touches a buffer ends by SIGSEGV.
    (void)::pthread_atfork(&before_fork, &after_fork, &in_child);
    return made;
  }();
  return *domain;
}

// No other thread is in the middle of a change while the child is made. The memory of a child is
// ordinary memory, which its own children inherit.
void MemoryDomain::before_fork() {
  MemoryDomain& domain = of_process();
  domain.mutex_.lock();
  domain.maps_for_child_ = domain.made_in_ && domain.made_in_->is_of_this_process();
}
void MemoryDomain::after_fork() { of_process().mutex_.unlock(); }
void MemoryDomain::in_child() {
  MemoryDomain& domain = of_process();
  if (domain.maps_for_child_) domain.map_for_child();
  domain.mutex_.unlock();
}

void MemoryDomain::map_for_child() const {
  for (const auto& [place, extent] : extents_) {
    if (extent.state != State::kInUse) continue;
    std::byte* const begin = extent.registered != nullptr ? extent.registered : at(place);
    for (std::uint64_t from = place; from < place + extent.bytes;) {
      const auto [kept, left_end] = until_left(from, place + extent.bytes);
      if (kept > from)
        (void)::mmap(begin + (from - place), kept - from, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, file_.get(),
                     static_cast<off_t>(from));
      from = left_end;
    }
  }
}

// Where the next pages begin and end that were left behind: they are private memory already, which
// a child inherits. `end` twice where there are none.
std::pair<std::uint64_t, std::uint64_t> MemoryDomain::until_left(std::uint64_t from,
                                                                 std::uint64_t end) const {
  std::pair<std::uint64_t, std::uint64_t> next{end, end};
  for (const auto& [begin, bytes] : left_)
    if (begin + bytes > from && begin < next.first) next = {std::max(begin, from), begin + bytes};
  return {next.first, std::min(next.second, end)};
}

MemoryDomain::MemoryDomain(std::size_t most_bytes)
    : most_bytes_(rounded_up(std::clamp(most_bytes, kLeastArena, kMostArena), kHugePage)) {}

MemoryDomain::~MemoryDomain() {
  if (base_ != 0) ::munmap(at(0), length_);
}

std::byte* MemoryDomain::at(std::uint64_t place) const {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): open() made the number from this pointer
  return reinterpret_cast<std::byte*>(base_.load(std::memory_order_relaxed)) + place;
}

Status MemoryDomain::open() {
  if (base_ != 0) return {};
  UniqueFd file(::memfd_create("paceline-buffers", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file) return unavailable("cannot create a file in memory");
  std::size_t length = std::min(most_bytes_, longest_file() / kHugePage * kHugePage);
  void* memory = MAP_FAILED;
  while (length >= kLeastArena) {
    if (::ftruncate(file.get(), static_cast<off_t>(length)) == 0)
      memory = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                      file.get(), 0);
    if (memory != MAP_FAILED) break;
    length = length / 2 / kHugePage * kHugePage;
  }
  if (memory == MAP_FAILED) return unavailable("cannot reserve address space");
  // Peers may rely on its length.
  if (::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0 ||
      ::madvise(memory, length, MADV_DONTFORK) != 0) {
    ::munmap(memory, length);
    return unavailable("cannot prepare the memory");
  }
  (void)::madvise(memory, length, MADV_HUGEPAGE);  // where the system has them for such memory
  file_ = std::move(file);
  made_in_.emplace();
  extents_.emplace(0, Extent{.bytes = length});
  length_.store(length, std::memory_order_relaxed);
  base_.store(reinterpret_cast<std::uintptr_t>(memory), std::memory_order_release);
  return {};
}

Result<int> MemoryDomain::file() {
  PACELINE_TRY(refuse_child());
  const std::lock_guard lock(mutex_);
  PACELINE_TRY(open());
  return file_.get();
}

// Before the lock: whoever forked may have been another thread than the one that had it.
Status MemoryDomain::refuse_child() const {
  const bool is_open = base_.load(std::memory_order_acquire) != 0;
  if (!is_open || made_in_->is_of_this_process()) return {};
  return made_in_->refusal("memory for buffers");
}

Result<std::span<std::byte>> MemoryDomain::allocate(std::size_t bytes) {
  PACELINE_TRY(refuse_child());
  if (bytes > kMostArena) return no_room(bytes, 0);
  const std::size_t whole = rounded_up(std::max<std::size_t>(bytes, 1), kPage);
  const std::lock_guard lock(mutex_);
  PACELINE_TRY(open());
  PACELINE_TRY_ASSIGN(const Extents::iterator extent, take(whole));
  return std::span(at(extent->first), bytes);
}

Result<MemoryDomain::Extents::iterator> MemoryDomain::take(std::size_t bytes) {
  PACELINE_TRY_ASSIGN(const Extents::iterator extent, find_room(bytes));
  extent->second.state = State::kInUse;
  use_.allocated_bytes += bytes;
  return extent;
}

// What was freed last lies first where there is room for it; what takes no memory is reserved now.
Result<MemoryDomain::Extents::iterator> MemoryDomain::find_room(std::size_t bytes) {
  if (const auto kept = first_fit(State::kKept, bytes); kept != extents_.end()) {
    use_.kept_bytes -= bytes;
    return kept;
  }
  for (int attempt = 0;; ++attempt) {
    const auto extent = first_fit(State::kAbsent, bytes);
    int error = 0;
    if (extent != extents_.end()) {
      const auto begin = static_cast<off_t>(extent->first);
      if (::fallocate(file_.get(), 0, begin, static_cast<off_t>(bytes)) == 0) return extent;
      error = errno;
      give_back(extent);
    }
    if (attempt > 0 || use_.kept_bytes == 0) return no_room(bytes, error);
    give_back_kept(0);
  }
}

// An extent of just so many bytes in that state, or the end.
MemoryDomain::Extents::iterator MemoryDomain::first_fit(State state, std::size_t bytes) {
  const std::size_t unit = bytes >= kHugePage ? kHugePage : kPage;
  for (auto extent = extents_.begin(); extent != extents_.end(); ++extent) {
    if (extent->second.state != state) continue;
    const std::uint64_t begin = rounded_up(extent->first, unit);
    const std::uint64_t skipped = begin - extent->first;
    if (extent->second.bytes < skipped || extent->second.bytes - skipped < bytes) continue;
    return cut(extent, begin, bytes);
  }
  return extents_.end();
}

MemoryDomain::Extents::iterator MemoryDomain::cut(Extents::iterator extent, std::uint64_t begin,
                                                  std::size_t bytes) {
  const State state = extent->second.state;
  const std::uint64_t end = extent->first + extent->second.bytes;
  if (begin > extent->first) {
    extent->second.bytes = begin - extent->first;
    extent = extents_.emplace(begin, Extent{.bytes = end - begin, .state = state}).first;
  }
  if (extent->second.bytes > bytes) {
    extents_.emplace(begin + bytes, Extent{.bytes = end - begin - bytes, .state = state});
    extent->second.bytes = bytes;
  }
  return extent;
}

// With its neighbours in the same state, where that is one of free memory.
MemoryDomain::Extents::iterator MemoryDomain::join(Extents::iterator extent) {
  const auto absorb = [this](Extents::iterator first, Extents::iterator second) {
    first->second.bytes += second->second.bytes;
    extents_.erase(second);
    return first;
  };
  const State state = extent->second.state;
  if (const auto next = std::next(extent); next != extents_.end() && next->second.state == state)
    extent = absorb(extent, next);
  if (extent == extents_.begin()) return extent;
  const auto before = std::prev(extent);
  return before->second.state == state ? absorb(before, extent) : extent;
}

MemoryDomain::Extents::iterator MemoryDomain::extent_of(std::uint64_t place) {
  return std::prev(extents_.upper_bound(place));
}

void MemoryDomain::give_back(Extents::iterator extent) {
  if (extent->second.state == State::kKept) use_.kept_bytes -= extent->second.bytes;
  (void)::fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    static_cast<off_t>(extent->first), static_cast<off_t>(extent->second.bytes));
  extent->second.state = State::kAbsent;
  join(extent);
}

void MemoryDomain::give_back_kept(std::size_t most) {
  while (use_.kept_bytes > most) {
    give_back(std::find_if(extents_.begin(), extents_.end(),
                           [](const auto& extent) { return extent.second.state == State::kKept; }));
  }
}

Status MemoryDomain::free(const void* begin) {
  PACELINE_TRY(refuse_child());
  const std::lock_guard lock(mutex_);
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  if (base_ == 0 || address < base_ || address - base_ >= length_) return not_allocated();
  const auto extent = extents_.find(address - base_);
  if (extent == extents_.end() || extent->second.state != State::kInUse ||
      extent->second.registered != nullptr)
    return not_allocated();
  if (extent->second.uses > 0) return used("free it");
  give_up(extent);
  return {};
}

Status MemoryDomain::used(std::string_view before) {
  return Status(
      Code::kInvalidArgument, Scope::kOperation,
      std::string("an operation still uses this buffer; wait for the operation before you ")
          .append(before));
}

// Its owner needs it no more.
void MemoryDomain::give_up(Extents::iterator extent) {
  use_.allocated_bytes -= extent->second.bytes;
  if (extent->second.left_some) return abandon(extent);
  extent->second.state = State::kKept;
  use_.kept_bytes += extent->second.bytes;
  join(extent);
  if (use_.kept_bytes > kMostKept) give_back_kept(kMostKept);
}

// Some of it peers may still write: nothing will lie here any more.
void MemoryDomain::abandon(Extents::iterator extent) {
  const auto& [place, what] = *extent;
  (void)::mmap(at(place), what.bytes, PROT_NONE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  (void)::fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    static_cast<off_t>(place), static_cast<off_t>(what.bytes));
  extent->second.state = State::kLeft;
}

bool MemoryDomain::retain(std::uint64_t place) {
  const std::lock_guard lock(mutex_);
  const auto extent = extent_of(place);
  if (extent->second.state != State::kInUse) return false;
  ++extent->second.uses;
  return true;
}

void MemoryDomain::release(std::uint64_t place) {
  const std::lock_guard lock(mutex_);
  --extent_of(place)->second.uses;
}

Status MemoryDomain::leave_behind(std::uint64_t place, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t begin = place / kPage * kPage;
  const std::size_t whole = rounded_up(place + bytes, kPage) - begin;
  const Extents::iterator extent = extent_of(place);
  std::byte* const owners = extent->second.registered;
  PACELINE_TRY(
      make_private(owners != nullptr ? owners + (begin - extent->first) : at(begin), whole));
  extent->second.left_some = true;
  left_.emplace_back(begin, whole);
  use_.left_bytes += whole;
  left_some_.store(true, std::memory_order_release);
  return {};
}

// Its pages are exchanged for some that nobody else has, with the same contents.
Status MemoryDomain::make_private(std::byte* begin, std::size_t bytes) {
  void* const copy =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (copy == MAP_FAILED) return unavailable("cannot allocate private memory in exchange");
  std::memcpy(copy, begin, bytes);
  // In one step: who looks at it finds the one or the other.
  if (::mremap(copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, begin) == MAP_FAILED) {
    ::munmap(copy, bytes);
    return unavailable("cannot allocate private memory in exchange");
  }
  return {};
}

bool MemoryDomain::is_left_behind(std::uint64_t place, std::size_t bytes) const {
  const std::lock_guard lock(mutex_);
  return overlaps_left(place, bytes);
}

bool MemoryDomain::overlaps_left(std::uint64_t place, std::size_t bytes) const {
  return std::any_of(left_.begin(), left_.end(), [&](const auto& range) {
    return place < range.first + range.second && range.first < place + bytes;
  });
}

MemoryDomain::Use MemoryDomain::use() const {
  const std::lock_guard lock(mutex_);
  return use_;
}

}  // namespace paceline
