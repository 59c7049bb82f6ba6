// Memory of this process that the other processes of its host can reach: what a Buffer is made of.
//
// It lies in an arena: one memory file, as long as the machine has memory, of which only what is
// allocated is there. Peers map all of it once (comm/arena_view.h), so allocating and freeing tells
// nobody anything, and a place in it is one number. What is freed is kept for the next that asks,
// up to kMostKept, and given back to the system beyond.
//
// A peer may write where its operation was told to. What an operation that has failed may still be
// writing is left behind (leave_behind()): its place in the arena is not used again.
//
// Memory from elsewhere becomes part of the arena where its owner asks for it (take_over()).
//
// A forked child does not share the arena (MADV_DONTFORK). After fork() it has what is allocated in
// the process's own domain as private memory (copy-on-write): its writes reach nobody.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <paceline/status.h>

#include "comm/base/process_mark.h"
#include "comm/base/unique_fd.h"

namespace paceline {

/// Any thread may call any member.
class MemoryDomain {
 public:
  /// The process's own; made when it is first asked for, and never destroyed.
  static MemoryDomain& of_process();

  /// `most_bytes`: the arena's length, at most. Other than of_process(): for tests.
  explicit MemoryDomain(std::size_t most_bytes);
  ~MemoryDomain();
  MemoryDomain(const MemoryDomain&) = delete;
  MemoryDomain& operator=(const MemoryDomain&) = delete;

  /// At least `bytes`, aligned to a page (to kHugePage, if it is that long), with unspecified
  /// contents. The memory is reserved: a later write does not fail because the system has no
  /// memory. Code::kExhausted: no room. Code::kUnavailable: this system has no such memory.
  /// Code::kInvalidArgument: the process was forked from the one that made the domain.
  Result<std::span<std::byte>> allocate(std::size_t bytes);
  /// What allocate() has returned. Code::kInvalidArgument, and nothing is done, where it is not
  /// that, or an operation is using it.
  Status free(const void* begin);

  /// Registers memory that lies elsewhere: what is there now lies in the arena, at the addresses
  /// where it was, until hand_back(). paceline/buffer.h (Registration) says what its owner
  /// promises; what of it can be seen from here is checked: Code::kInvalidArgument.
  Status take_over(std::span<std::byte> memory);
  /// What take_over() has got: ordinary memory with the same contents again. Errors as of free().
  Status hand_back(const void* begin);

  /// Where in the arena a range lies, for those who have mapped it; nothing where it lies
  /// elsewhere. Quick, and takes no lock but where something is registered or left behind.
  std::optional<std::uint64_t> place_of(const void* begin, std::size_t bytes) const {
    const auto address = reinterpret_cast<std::uintptr_t>(begin);
    const std::uintptr_t base = base_.load(std::memory_order_acquire);
    const std::size_t length = length_.load(std::memory_order_relaxed);
    if (base == 0) return {};
    if (address < base || address - base > length) {
      if (!registered_some_.load(std::memory_order_acquire)) return {};
      return place_of_registered(address, bytes);
    }
    const std::uint64_t place = address - base;
    if (bytes > length - place) return {};
    if (left_some_.load(std::memory_order_acquire) && is_left_behind(place, bytes)) return {};
    return place;
  }

  /// An operation uses the allocation in which this place lies: it cannot be freed until
  /// release(). False where nothing is allocated there.
  bool retain(std::uint64_t place);
  void release(std::uint64_t place);

  /// The pages of a range get other memory with the same contents: what peers write into the arena
  /// from now on is not seen there. They are in no arena any more. What other threads write there
  /// meanwhile may be lost. An error where there is no memory; nothing has been done then.
  Status leave_behind(std::uint64_t place, std::size_t bytes);

  /// The arena's file, which stays the domain's.
  Result<int> file();

  struct Use {
    std::size_t allocated_bytes = 0;
    std::size_t kept_bytes = 0;  ///< freed, and kept
    std::size_t left_bytes = 0;  ///< left behind
  };
  Use use() const;

  static constexpr std::size_t kPage = 4096;
  static constexpr std::size_t kHugePage = std::size_t{2} << 20;
  static constexpr std::size_t kMostKept = std::size_t{256} << 20;

 private:
  enum class State : std::uint8_t {
    kAbsent,  // takes no memory
    kKept,    // has been freed
    kInUse,
    kLeft,  // peers may write there: never used again
  };
  struct Extent {
    std::size_t bytes = 0;
    State state = State::kAbsent;
    int uses = 0;                     // by operations
    bool left_some = false;           // of its pages
    std::byte* registered = nullptr;  // where its owner has it, if that is not in the arena
  };
  using Extents = std::map<std::uint64_t, Extent>;  // by place; without gaps

  static void before_fork();
  static void after_fork();
  static void in_child();
  void map_for_child() const;
  std::pair<std::uint64_t, std::uint64_t> until_left(std::uint64_t from, std::uint64_t end) const;
  Status refuse_child() const;
  bool is_left_behind(std::uint64_t place, std::size_t bytes) const;
  std::optional<std::uint64_t> place_of_registered(std::uintptr_t address, std::size_t bytes) const;
  static Status used(std::string_view before);
  static Status make_private(std::byte* begin, std::size_t bytes);

  // With the mutex held.
  Status open();
  Result<Extents::iterator> take(std::size_t bytes);
  Result<Extents::iterator> find_room(std::size_t bytes);
  Extents::iterator first_fit(State state, std::size_t bytes);
  Extents::iterator cut(Extents::iterator extent, std::uint64_t begin, std::size_t bytes);
  Extents::iterator join(Extents::iterator extent);
  Extents::iterator extent_of(std::uint64_t place);
  void give_back(Extents::iterator extent);
  void give_back_kept(std::size_t most);
  void give_up(Extents::iterator extent);
  void abandon(Extents::iterator extent);
  bool overlaps_left(std::uint64_t place, std::size_t bytes) const;
  std::byte* at(std::uint64_t place) const;

  const std::size_t most_bytes_;
  mutable std::mutex mutex_;  // guards all but the atomics, which are written with it held
  std::optional<ProcessMark> made_in_;  // set when it is opened
  bool maps_for_child_ = false;         // during a fork
  UniqueFd file_;
  Extents extents_;
  Use use_;
  std::atomic<std::uintptr_t> base_{0};
  std::atomic<std::size_t> length_{0};
  std::atomic<bool> left_some_{false};
  std::vector<std::pair<std::uint64_t, std::size_t>> left_;  // ranges of pages: place and bytes
  std::atomic<bool> registered_some_{false};
  std::map<std::uintptr_t, std::uint64_t> registered_;  // by its owner's address: its place
};

}  // namespace paceline
