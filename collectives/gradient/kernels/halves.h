// The codecs bf16 and fp16 on a device: the all-reduce of a bucket as dense_reduction.cc has it,
// with the same roundings.
//
//   encode   a rank's elements -> a slot for each other rank
//   sum      what the ranks have sent -> the own shard's sum, encoded
//   decode   the encoded sums of all -> elements
//
// A slot holds the codes of a shard. Lanes take kTogether elements at a time, which are of one
// shard. It compiles for devices and for the CPU: see comm/device/kernel_block.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include <paceline/half.h>

#include "collectives/gradient/kernels/findings.h"
#include "comm/device/kernel_block.h"

namespace paceline::on_device {

/// Elements that a lane takes at a time.
inline constexpr unsigned kTogether = 4;

/// Slots of a bucket. They and the elements lie at addresses that are aligned to 16 bytes.
struct Slots {
  std::uint64_t count;       ///< elements of the bucket
  std::uint64_t shard;       ///< elements of a slot; a multiple of 8
  std::uint64_t slot_bytes;  ///< of shard codes
};
struct EncodeArguments {
  Slots slots;
  const float* elements;
  std::byte* codes;      ///< slots, one for each rank
  std::uint64_t own;     ///< the slot that is not written
  std::uint64_t offset;  ///< of the first element, for `findings`
  Findings* findings;
};
struct SumArguments {
  Slots slots;
  const float* elements;   ///< of the bucket
  const std::byte* codes;  ///< slots, one from each rank
  std::uint64_t own;
  std::uint64_t ranks;
  std::uint64_t divisor;
  std::byte* sum;  ///< a slot
};
struct DecodeArguments {
  Slots slots;
  const std::byte* codes;
  float* elements;
  std::uint64_t offset;
  Findings* findings;
};

struct alignas(16) Floats {
  float at[kTogether];
};
template <class Half>
struct alignas(8) Codes {
  Half at[kTogether];
};

/// Elements that a lane takes at a time, and where their codes are.
struct Place {
  std::uint64_t first;
  unsigned count;
  std::uint64_t slot;
  std::uint64_t in_codes;  ///< bytes
};
PACELINE_KERNEL Place place_of(const Slots& slots, std::uint64_t pack) {
  const std::uint64_t first = pack * kTogether;
  const std::uint64_t left = slots.count - first;
  const std::uint64_t slot = first / slots.shard;
  return {first, left < kTogether ? static_cast<unsigned>(left) : kTogether, slot,
          slot * slots.slot_bytes + (first - slot * slots.shard) * sizeof(std::uint16_t)};
}
PACELINE_KERNEL std::uint64_t packs_of(std::uint64_t elements) {
  return (elements + kTogether - 1) / kTogether;
}

PACELINE_KERNEL Floats load(const float* from, const Place& place) {
  if (place.count == kTogether) return *reinterpret_cast<const Floats*>(from + place.first);
  Floats floats{};
  for (unsigned i = 0; i < place.count; ++i) floats.at[i] = from[place.first + i];
  return floats;
}
PACELINE_KERNEL void store(float* to, const Place& place, const Floats& floats) {
  if (place.count == kTogether) {
    *reinterpret_cast<Floats*>(to + place.first) = floats;
    return;
  }
  for (unsigned i = 0; i < place.count; ++i) to[place.first + i] = floats.at[i];
}

// Slots are a multiple of kTogether long, so lanes read and write codes after the last element,
// too.
template <class Half, class Block>
PACELINE_KERNEL void encode_halves(const Block& block, const EncodeArguments& from,
                                   Shared& shared) {
  share(block, shared, packs_of(from.slots.count), [&](Findings& findings, std::uint64_t pack) {
    const Place place = place_of(from.slots, pack);
    const Floats floats = load(from.elements, place);
    const bool is_own = place.slot == from.own;
    Codes<Half> codes{};
    for (unsigned i = 0; i < place.count; ++i) {
      codes.at[i] = Half(floats.at[i]);
      const float seen = is_own ? floats.at[i] : codes.at[i].to_float();
      note_overflow(findings, seen, from.offset + (place.first + i) * sizeof(float));
    }
    if (!is_own) *reinterpret_cast<Codes<Half>*>(from.codes + place.in_codes) = codes;
  });
  keep(block, shared, from.findings, false);
}

// In the order of the ranks.
template <class Half, class Block>
PACELINE_KERNEL void sum_halves(const Block& block, const SumArguments& from, Shared& shared) {
  const std::uint64_t begin = from.own * from.slots.shard;
  if (begin >= from.slots.count) return;
  const std::uint64_t left = from.slots.count - begin;
  const std::uint64_t count = left < from.slots.shard ? left : from.slots.shard;
  share(block, shared, packs_of(count), [&](Findings&, std::uint64_t pack) {
    const Place place = place_of(from.slots, begin / kTogether + pack);
    const Floats own = load(from.elements, place);
    const std::uint64_t in_slot = place.in_codes - from.own * from.slots.slot_bytes;
    Floats sums{};
    for (std::uint64_t rank = 0; rank < from.ranks; ++rank) {
      const auto codes = *reinterpret_cast<const Codes<Half>*>(
          from.codes + rank * from.slots.slot_bytes + in_slot);
      for (unsigned i = 0; i < kTogether; ++i)
        sums.at[i] += rank == from.own ? own.at[i] : codes.at[i].to_float();
    }
    Codes<Half> codes{};
    for (unsigned i = 0; i < kTogether; ++i)
      codes.at[i] =
          Half(from.divisor == 1 ? sums.at[i] : sums.at[i] / static_cast<float>(from.divisor));
    *reinterpret_cast<Codes<Half>*>(from.sum + in_slot) = codes;
  });
}

template <class Half, class Block>
PACELINE_KERNEL void decode_halves(const Block& block, const DecodeArguments& from,
                                   Shared& shared) {
  share(block, shared, packs_of(from.slots.count), [&](Findings& findings, std::uint64_t pack) {
    const Place place = place_of(from.slots, pack);
    const auto codes = *reinterpret_cast<const Codes<Half>*>(from.codes + place.in_codes);
    Floats floats{};
    for (unsigned i = 0; i < place.count; ++i) {
      floats.at[i] = codes.at[i].to_float();
      add(findings, floats.at[i], from.offset + (place.first + i) * sizeof(float));
    }
    store(from.elements, place, floats);
  });
  keep(block, shared, from.findings, false);
}

}  // namespace paceline::on_device
