// Memory that a program has got elsewhere, as part of the arena: its pages are exchanged for the
// arena's, at the same addresses.
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include <sys/mman.h>

#include "comm/base/system_error.h"
#include "comm/base/try.h"
#include "comm/memory_domain.h"

namespace paceline {
namespace {

Status refused(const std::string& why) {
  return Status(Code::kInvalidArgument, Scope::kOperation, "cannot register this memory: " + why);
}

Status failed(const char* what) {
  return Status(Code::kUnavailable, Scope::kProcess, std::string(what) + ": " + error_text(errno));
}

// A line of /proc/self/maps.
struct Mapping {
  std::uintptr_t begin = 0, end = 0;
  std::string why_not;  // it cannot be exchanged; empty: it can
};

std::string why_not(std::string_view permissions, unsigned long inode, std::string_view name) {
  if (!permissions.starts_with("rw")) return "a part of it is not readable and writable";
  if (permissions[3] != 'p' || inode != 0)
    return "a part of it is mapped from a file, or is already shared";
  if (name == "[heap]")
    return "a part of it is in the heap, which malloc manages; allocate it by mmap";
  if (name == "[stack]") return "a part of it is on a stack";
  return {};
}

std::optional<Mapping> parse(const std::string& line) {
  Mapping mapping;
  char permissions[5] = "", name[16] = "";
  unsigned long inode = 0;
  const int fields = std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " %4s %*s %*s %lu %15s",
                                 &mapping.begin, &mapping.end, permissions, &inode, name);
  if (fields < 4) return {};
  mapping.why_not = why_not(permissions, inode, name);
  return mapping;
}

// Of all that is mapped there: may its pages be exchanged?
Status look_at(std::uintptr_t begin, std::uintptr_t end) {
  std::ifstream maps("/proc/self/maps");
  std::uintptr_t seen = begin;
  for (std::string line; seen < end && std::getline(maps, line);) {
    const auto mapping = parse(line);
    if (!mapping || mapping->end <= seen) continue;
    if (mapping->begin > seen) break;
    if (!mapping->why_not.empty()) return refused(mapping->why_not);
    seen = mapping->end;
  }
  return seen >= end ? Status() : refused("a part of it is not mapped");
}

}  // namespace

Status MemoryDomain::take_over(std::span<std::byte> memory) {
  PACELINE_TRY(refuse_child());
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  if (memory.empty() || address % kPage != 0 || memory.size() % kPage != 0)
    return refused("its address and size must be multiples of 4 KiB, and its size not 0");
  const std::lock_guard lock(mutex_);
  PACELINE_TRY(open());
  PACELINE_TRY(look_at(address, address + memory.size()));
  PACELINE_TRY_ASSIGN(const Extents::iterator extent, take(memory.size()));
  std::memcpy(at(extent->first), memory.data(), memory.size());
  // In one step: who looks at it finds the one or the other.
  if (::mmap(memory.data(), memory.size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
             file_.get(), static_cast<off_t>(extent->first)) == MAP_FAILED) {
    Status status = failed("cannot register this memory");
    give_up(extent);
    return status;
  }
  (void)::madvise(memory.data(), memory.size(), MADV_DONTFORK);
  extent->second.registered = memory.data();
  registered_.emplace(address, extent->first);
  registered_some_.store(true, std::memory_order_release);
  return {};
}

Status MemoryDomain::hand_back(const void* begin) {
  PACELINE_TRY(refuse_child());
  const std::lock_guard lock(mutex_);
  const auto found = registered_.find(reinterpret_cast<std::uintptr_t>(begin));
  if (found == registered_.end())
    return Status(Code::kInvalidArgument, Scope::kOperation,
                  "the address is not the beginning of registered memory");
  const Extents::iterator extent = extents_.find(found->second);
  if (extent->second.uses > 0) return used("deregister it");
  PACELINE_TRY(make_private(extent->second.registered, extent->second.bytes));
  extent->second.registered = nullptr;
  registered_.erase(found);
  registered_some_.store(!registered_.empty(), std::memory_order_release);
  give_up(extent);
  return {};
}

std::optional<std::uint64_t> MemoryDomain::place_of_registered(std::uintptr_t address,
                                                               std::size_t bytes) const {
  const std::lock_guard lock(mutex_);
  const auto next = registered_.upper_bound(address);
  if (next == registered_.begin()) return {};
  const auto& [begin, place] = *std::prev(next);
  const std::size_t skipped = address - begin;
  const std::size_t length = extents_.find(place)->second.bytes;
  if (skipped > length || bytes > length - skipped) return {};
  if (overlaps_left(place + skipped, bytes)) return {};
  return place + skipped;
}

}  // namespace paceline
