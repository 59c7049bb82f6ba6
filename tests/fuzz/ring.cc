// A ring in shared memory whose other side writes what it likes, where it likes. The input is a
// script of writes, reads and scribbles. Whatever the counts claim, nothing is touched outside the
// ring and no more is moved than fits; as long as nobody has scribbled, what is read is what was
// written, and the end comes behind it.

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "comm/base/assert.h"
#include "comm/transport/byte_ring.h"
#include "tests/fuzz/fuzz_input.h"

namespace paceline {
namespace {

constexpr std::size_t kCapacity = 64;
constexpr std::size_t kBytes = ByteRing::bytes_for(kCapacity);
constexpr std::size_t kCountsBytes = kBytes - kCapacity;

std::byte nth(std::uint64_t number) { return static_cast<std::byte>(number * 37); }

class Script {
 public:
  explicit Script(fuzz::FuzzInput input) : input_(input) {}

  void run() {
    while (!input_.empty()) step();
    writer_.close();
    for (int reads = 0; honest_ && read(kCapacity).state != StreamState::kClosed; ++reads) {
      PACELINE_ASSERT(reads <= 1);
    }
    PACELINE_ASSERT(!honest_ || read_ == written_);
  }

 private:
  void step() {
    switch (input_.byte() % 8) {
      case 0:
      case 1:
      case 2:
        return write(input_.byte());
      case 3:
      case 4:
      case 5:
        return (void)read(input_.byte());
      case 6:
        return scribble(input_.byte() % kCountsBytes, input_.bytes(input_.byte() % 9));
      default:
        // A count near the one that is there, which noise would hardly hit.
        return nudge(input_.byte() % 2 == 0 ? 0 : 64, input_.byte());
    }
  }

  void write(std::size_t size) {
    std::array<std::byte, 256> bytes;
    for (std::size_t i = 0; i < size; ++i) bytes[i] = nth(written_ + i);
    const ByteView all = ByteView(bytes).first(size);
    const ByteView parts[] = {all.first(size / 3), all.subspan(size / 3)};
    const Transfer moved = writer_.write(parts);
    judge(moved, size, writer_.error());
    written_ += moved.bytes;
  }
  Transfer read(std::size_t size) {
    std::array<std::byte, 256> bytes;
    const std::span<std::byte> all = std::span(bytes).first(size);
    const std::span<std::byte> parts[] = {all.first(size / 2), all.subspan(size / 2)};
    const Transfer moved = reader_.read(parts);
    judge(moved, size, reader_.error());
    for (std::size_t i = 0; honest_ && i < moved.bytes; ++i) {
      PACELINE_ASSERT(bytes[i] == nth(read_ + i));
    }
    read_ += moved.bytes;
    PACELINE_ASSERT(!honest_ || read_ <= written_);
    return moved;
  }
  void judge(const Transfer& moved, std::size_t asked, const Status& error) const {
    PACELINE_ASSERT(moved.bytes <= asked && moved.bytes <= kCapacity);
    PACELINE_ASSERT((moved.state == StreamState::kMoved) == (moved.bytes > 0));
    PACELINE_ASSERT(moved.state != StreamState::kBroken || (!honest_ && !error.ok()));
  }

  void scribble(std::size_t offset, ByteView bytes) {
    if (bytes.empty()) return;
    honest_ = false;
    std::memcpy(memory_.get() + offset, bytes.data(), std::min(bytes.size(), kBytes - offset));
  }
  void nudge(std::size_t offset, std::uint8_t by) {
    std::uint64_t count = 0;
    std::memcpy(&count, memory_.get() + offset, sizeof count);
    count += static_cast<std::uint64_t>(std::int64_t{by} - 128);
    honest_ = false;
    std::memcpy(memory_.get() + offset, &count, sizeof count);
  }

  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  static std::byte* zeroed() {
    auto* memory = static_cast<std::byte*>(std::aligned_alloc(64, kBytes));
    PACELINE_ASSERT(memory != nullptr);
    std::memset(memory, 0, kBytes);
    return memory;
  }

  fuzz::FuzzInput input_;
  const std::unique_ptr<std::byte, Free> memory_{zeroed()};  // its ends are watched by a sanitizer
  const ByteRing ring_{std::span(memory_.get(), kBytes)};
  RingWriter writer_{ring_};
  RingReader reader_{ring_};
  std::uint64_t written_ = 0, read_ = 0;
  bool honest_ = true;  // nobody has scribbled
};

}  // namespace
}  // namespace paceline

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  paceline::Script(paceline::fuzz::FuzzInput(data, size)).run();
  return 0;
}
