// The kernels of bf16 and fp16, as a fake device runs them: an all-reduce of some ranks against the
// CPU's loops, bit by bit.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "collectives/gradient/codecs/dense_codec.h"
#include "collectives/gradient/kernels/halves.h"
#include "comm/base/random.h"
#include "tests/harness/cpu_kernels.h"

namespace paceline {
namespace {

using on_device::Findings;

constexpr std::size_t kRanks = 3;
constexpr std::size_t kShardMultiple = 128;
constexpr std::uint64_t kOffset = 4096;

const DenseCodec& plain(Codec codec) {
  for (const DenseCodec& one : plain_dense_codecs())
    if (one.codec == codec) return one;
  return plain_dense_codecs().front();
}

void run(const std::string& kernel, const void* arguments) {
  testing::find_cpu_kernel(kernel)->run(arguments, on_device::kBlocks);
}

std::uint64_t first_overflow(const std::vector<Findings>& findings) {
  std::uint64_t first = Findings::kNone;
  for (const Findings& one : findings) first = std::min(first, one.first_overflow);
  return first;
}

// Floats at a multiple of 16 bytes.
struct AlignedFloats {
  explicit AlignedFloats(std::size_t count) : memory(count + 4) {
    while (reinterpret_cast<std::uintptr_t>(memory.data() + begin) % 16 != 0) ++begin;
  }
  float* data() { return memory.data() + begin; }

  std::vector<float> memory;
  std::size_t begin = 0;
};

struct Rank {
  AlignedFloats elements;
  std::vector<std::byte> sent, received;
  std::vector<Findings> before = std::vector<Findings>(on_device::kBlocks);
  std::vector<Findings> after = std::vector<Findings>(on_device::kBlocks);
};

class AllReduce {
 public:
  AllReduce(Codec codec, std::size_t count) : name_(paceline::name(codec)), plain_(plain(codec)) {
    const std::size_t shard =
        (count + kRanks * kShardMultiple - 1) / (kRanks * kShardMultiple) * kShardMultiple;
    slots_ = {.count = count, .shard = shard, .slot_bytes = 2 * shard};
    for (std::size_t rank = 0; rank < kRanks; ++rank)
      ranks_.push_back({.elements = AlignedFloats(count),
                        .sent = std::vector<std::byte>(kRanks * slots_.slot_bytes),
                        .received = std::vector<std::byte>(kRanks * slots_.slot_bytes)});
  }
  float& at(std::size_t rank, std::size_t i) { return ranks_[rank].elements.data()[i]; }
  const Rank& of(std::size_t rank) const { return ranks_[rank]; }

  // By loops: the owner of an element adds up all ranks' codes and its own element.
  std::vector<float> expected(std::uint64_t divisor) {
    std::vector<float> results;
    for (std::size_t i = 0; i < slots_.count; ++i) {
      float sum = 0;
      for (std::size_t rank = 0; rank < kRanks; ++rank)
        sum += rank == i / slots_.shard ? at(rank, i) : rounded(at(rank, i));
      if (divisor != 1) sum /= static_cast<float>(divisor);
      results.push_back(rounded(sum));
    }
    return results;
  }
  float rounded(float value) const {
    std::array<std::byte, 2> code{};
    plain_.encode(&value, nullptr, nullptr, 1, code.data());
    plain_.decode(code.data(), 1, &value);
    return value;
  }

  void carry_out(std::uint64_t divisor) {
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
      const on_device::EncodeArguments arguments{.slots = slots_,
                                                 .elements = ranks_[rank].elements.data(),
                                                 .codes = ranks_[rank].sent.data(),
                                                 .own = rank,
                                                 .offset = kOffset,
                                                 .findings = ranks_[rank].before.data()};
      run("paceline_encode_" + name_, &arguments);
    }
    for (std::size_t from = 0; from < kRanks; ++from)
      for (std::size_t to = 0; to < kRanks; ++to)
        std::memcpy(slot(ranks_[to].received, from), slot(ranks_[from].sent, to),
                    slots_.slot_bytes);
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
      const on_device::SumArguments arguments{.slots = slots_,
                                              .elements = ranks_[rank].elements.data(),
                                              .codes = ranks_[rank].received.data(),
                                              .own = rank,
                                              .ranks = kRanks,
                                              .divisor = divisor,
                                              .sum = slot(ranks_[rank].sent, rank)};
      run("paceline_sum_" + name_, &arguments);
    }
    for (std::size_t from = 0; from < kRanks; ++from)
      for (Rank& to : ranks_)
        std::memcpy(slot(to.sent, from), slot(ranks_[from].sent, from), slots_.slot_bytes);
    for (Rank& rank : ranks_) {
      const on_device::DecodeArguments arguments{.slots = slots_,
                                                 .codes = rank.sent.data(),
                                                 .elements = rank.elements.data(),
                                                 .offset = kOffset,
                                                 .findings = rank.after.data()};
      run("paceline_decode_" + name_, &arguments);
    }
  }

 private:
  std::byte* slot(std::vector<std::byte>& slots, std::size_t number) const {
    return slots.data() + number * slots_.slot_bytes;
  }

  const std::string name_;
  const DenseCodec& plain_;
  on_device::Slots slots_{};
  std::vector<Rank> ranks_;
};

class HalvesKernels : public ::testing::TestWithParam<Codec> {};

TEST_P(HalvesKernels, HaveTheBitsOfTheCpu) {
  Random random(3);
  for (const std::size_t count :
       std::initializer_list<std::size_t>{1, 3, 4, 127, 128, 129, 384, 385, 5000, 100003}) {
    for (const std::uint64_t divisor : {1u, 2u, 3u}) {
      AllReduce all(GetParam(), count);
      for (std::size_t rank = 0; rank < kRanks; ++rank)
        for (std::size_t i = 0; i < count; ++i)
          all.at(rank, i) = std::ldexp(static_cast<float>(random.unit() - 0.5),
                                       static_cast<int>(random.below(30)) - 22);
      const std::vector<float> expected = all.expected(divisor);
      all.carry_out(divisor);
      for (std::size_t rank = 0; rank < kRanks; ++rank) {
        ASSERT_EQ(first_overflow(all.of(rank).before), Findings::kNone);
        ASSERT_EQ(first_overflow(all.of(rank).after), Findings::kNone);
        double squares = 0, found = 0;
        for (std::size_t i = 0; i < count; ++i) {
          ASSERT_EQ(std::bit_cast<std::uint32_t>(all.at(rank, i)),
                    std::bit_cast<std::uint32_t>(expected[i]))
              << count << ": " << i;
          squares += static_cast<double>(expected[i]) * static_cast<double>(expected[i]);
        }
        for (const Findings& one : all.of(rank).after) found += one.sum_of_squares;
        EXPECT_NEAR(found, squares, 1e-12 * squares);
      }
    }
  }
}

// NaN, infinity, and a float that has no finite code, before and after.
TEST_P(HalvesKernels, NameWhatHasNoFiniteCode) {
  Random random(4);
  constexpr float kMost = std::numeric_limits<float>::max();
  for (int trial = 0; trial < 100; ++trial) {
    const std::size_t count = 1 + random.below(2000), place = random.below(count);
    AllReduce all(GetParam(), count);
    const std::size_t bad = random.below(kRanks);
    all.at(bad, place) = std::array{std::nanf(""), INFINITY, -INFINITY, kMost}[random.below(4)];
    const std::vector<float> expected = all.expected(1);
    const bool has_code = std::isfinite(expected[place]);
    all.carry_out(1);
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
      if (rank != bad) {
        EXPECT_EQ(first_overflow(all.of(rank).before), Findings::kNone);
      }
      EXPECT_EQ(first_overflow(all.of(rank).after),
                has_code ? Findings::kNone : kOffset + place * sizeof(float));
      EXPECT_EQ(std::isfinite(all.at(rank, place)), has_code);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, HalvesKernels, ::testing::Values(Codec::kBf16, Codec::kFp16),
                         [](const auto& info) { return std::string(name(info.param)); });

}  // namespace
}  // namespace paceline
