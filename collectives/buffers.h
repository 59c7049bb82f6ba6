// Memory that callers hand in: does what is written touch anything else?
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace paceline {

/// Bytes from an address, none where `bytes` is zero.
struct Buffer {
  Buffer(const void* begin, std::size_t size)
      : address(reinterpret_cast<std::uintptr_t>(begin)), bytes(size) {}

  std::uintptr_t end() const { return address + bytes; }

  std::uintptr_t address;
  std::size_t bytes;
};

inline bool overlap(const Buffer& a, const Buffer& b) {
  return a.address < b.end() && b.address < a.end();
}

/// Buffers of one call, some of them written.
class BufferSet {
 public:
  void read(const void* begin, std::size_t bytes) { add({begin, bytes}, false); }
  void write(const void* begin, std::size_t bytes) { add({begin, bytes}, true); }

  /// Is anything written that is written or read elsewhere?
  bool is_disturbed() {
    std::ranges::sort(uses_, {}, [](const Use& use) { return use.buffer.address; });
    std::uintptr_t read_until = 0, written_until = 0;  // by what begins before
    for (const Use& use : uses_) {
      const std::uintptr_t begin = use.buffer.address;
      if (begin < written_until || (use.is_written && begin < read_until)) return true;
      std::uintptr_t& until = use.is_written ? written_until : read_until;
      until = std::max(until, use.buffer.end());
    }
    return false;
  }

 private:
  struct Use {
    Buffer buffer;
    bool is_written;
  };
  void add(const Buffer& buffer, bool is_written) {
    if (buffer.bytes > 0) uses_.push_back({buffer, is_written});
  }

  std::vector<Use> uses_;
};

}  // namespace paceline
