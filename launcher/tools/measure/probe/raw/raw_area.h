// The memory in which the loop without the library passes messages: one area per rank, which that
// rank alone writes and all others read.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace paceline::probe {

inline constexpr std::size_t kPacketBytes = 56;
inline constexpr std::size_t kMaxPacketed = 2048;  // beyond, a flag and a plain copy are faster
inline constexpr std::size_t kPackets = (kMaxPacketed + kPacketBytes - 1) / kPacketBytes;
inline constexpr std::size_t kPostBytes = std::size_t{32} << 10;
inline constexpr std::size_t kSlotBytes = std::size_t{128} << 10;
inline constexpr std::size_t kSlots = 4;
inline constexpr std::size_t kLetters = 8;

/// A cache line: data, and the number of the call that it belongs to, written after it (release).
struct alignas(64) Packet {
  std::byte data[kPacketBytes];
  std::atomic<std::uint64_t> call;
};
static_assert(sizeof(Packet) == 64);

using Message = std::array<Packet, kPackets>;
using Slot = std::array<std::byte, kSlotBytes>;

/// A count that only grows.
struct alignas(64) Count {
  std::atomic<std::uint64_t> value;
};

/// Zero is a good initial state. Numbers of calls and pieces begin with 1.
struct RawArea {
  Count choice;    // rank 0's: how many bytes go as packets; 0: not decided yet
  Count barrier;   // barriers that this rank has come to
  Count posted;    // posts written
  Count given;     // pieces written into `parts`
  Count reduced;   // pieces written into `results`
  Count sent;      // pieces that this rank has written as a root into `parcels`
  Count received;  // broadcasts, or pieces of them, that this rank has done with
  Count entered;   // reductions in buffers that this rank has come to
  Count left;      // and those whose part it has made

  std::array<Message, 2> exchanges;       // all-reduce of few bytes; calls take turns
  std::array<Message, kLetters> letters;  // broadcast of few bytes
  alignas(64) std::array<std::array<std::byte, kPostBytes>, 2> posts;
  alignas(64) std::array<Slot, kSlots> parts;
  alignas(64) std::array<Slot, kSlots> results;
  alignas(64) std::array<Slot, kSlots> parcels;
};

}  // namespace paceline::probe
