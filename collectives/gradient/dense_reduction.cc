#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#include "collectives/gradient/arithmetic.h"
#include "collectives/gradient/codecs/with_residual.h"
#include "collectives/gradient/coded_reduction.h"
#include "collectives/requests.h"

namespace paceline {
namespace {

// A shard for each rank, in slots of equal size; the last ones may be short, or of no element.
class DenseReduction final : public BucketReduction {
 public:
  DenseReduction(const BucketSite& site, const CodedPlace& place, const DenseCodec& codec)
      : site_(site), place_(place), codec_(codec), ranks_(static_cast<std::size_t>(place.ranks)) {
    count_ = place.span.bytes / sizeof(float);
    const std::size_t blocks = (count_ + codec.block - 1) / codec.block;
    shard_ = (blocks + ranks_ - 1) / ranks_ * codec.block;
    slice_ = std::max(kSliceBytes / sizeof(float) / codec.block, std::size_t{1}) * codec.block;
    slot_bytes_ = codec.encoded_bytes(shard_);
    sent_.resize(ranks_ * slot_bytes_);
    received_.resize(ranks_ * slot_bytes_);
  }

  std::size_t operations() const override { return 2; }
  void begin() override { next_ = 0; }

  bool work(std::size_t stage, StepTally& tally) override {
    const std::size_t first = stage == 1 ? begin_of(own()) : 0;
    const std::size_t end = stage == 1 ? begin_of(own() + 1) : count_;
    const Slice slice = slice_at(first + next_, end);
    next_ += slice.count;
    if (slice.count > 0) {
      if (stage == 0) encode(slice, tally);
      if (stage == 1) sum(slice, site_.divisor(tally));
      if (stage == 2) decode(slice, tally);
    }
    if (first + next_ < end) return false;
    next_ = 0;
    return true;
  }

  // Each rank sends all slots but its own, or its own to all others.
  std::size_t plain_bytes(std::size_t) const override { return slot_bytes_ * ranks_ / 2; }

  OperationRequest request(std::size_t operation, bool) override {
    if (operation == 0)
      return requests::all_to_all(sent_.data(), received_.data(), slot_bytes_, DataType::kUInt8);
    return requests::all_gather(sent_.data() + own() * slot_bytes_, sent_.data(), slot_bytes_,
                                DataType::kUInt8);
  }

 private:
  // Of one shard.
  struct Slice {
    std::size_t begin = 0, count = 0;  // elements of the bucket
    std::size_t shard = 0;
    std::size_t in_slot = 0;  // bytes of the slot before it
  };

  std::size_t own() const { return static_cast<std::size_t>(place_.rank); }
  std::size_t begin_of(std::size_t shard) const { return std::min(shard * shard_, count_); }
  float* elements(const Slice& slice) const {
    return reinterpret_cast<float*>(site_.at(place_.span.begin)) + slice.begin;
  }
  std::byte* in(std::vector<std::byte>& slots, std::size_t slot, const Slice& slice) const {
    return slots.data() + slot * slot_bytes_ + slice.in_slot;
  }
  ByteSpan span_of(const Slice& slice) const {
    return {.begin = place_.span.begin + slice.begin * sizeof(float),
            .bytes = slice.count * sizeof(float)};
  }

  Slice slice_at(std::size_t begin, std::size_t end) const {
    if (begin >= end) return {};
    const std::size_t shard = begin / shard_;
    const std::size_t before = begin - shard * shard_;
    return {.begin = begin,
            .count = std::min({slice_, end - begin, shard_ - before}),
            .shard = shard,
            .in_slot = codec_.encoded_bytes(before)};
  }

  // The own shard stays as it is.
  void encode(const Slice& slice, StepTally& tally) {
    if (slice.shard == own()) return site_.look(span_of(slice), tally);
    std::byte* const out = in(sent_, slice.shard, slice);
    if (!codec_.encode(elements(slice), place_.residual(slice.begin), place_.lost(slice.begin),
                       slice.count, out))
      site_.cannot_encode(first_without_code(slice, out), tally);
  }

  // An infinity takes the codes of its whole block with it. It is blamed, not the block's first
  // element.
  std::size_t first_without_code(const Slice& slice, const std::byte* encoded) {
    sum_.resize(slice.count);
    codec_.decode(encoded, slice.count, sum_.data());
    std::size_t place = std::min(first_not_finite(sum_), slice.count - 1);
    const std::size_t begin = place / codec_.block * codec_.block;
    const std::size_t count = std::min(codec_.block, slice.count - begin);
    const std::size_t in_block = first_not_finite({elements(slice) + begin, count});
    if (in_block < count) place = begin + in_block;
    return place_.span.begin + (slice.begin + place) * sizeof(float);
  }
  static std::size_t first_not_finite(std::span<const float> elements) {
    const auto found =
        std::ranges::find_if_not(elements, [](float one) { return std::isfinite(one); });
    return static_cast<std::size_t>(found - elements.begin());
  }

  // In the order of the ranks, whoever sums. What is not finite is found by all, decoded.
  void sum(const Slice& slice, std::uint64_t divisor) {
    sum_.assign(slice.count, 0.0f);
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      if (rank == own())
        add_own(slice);
      else
        codec_.decode_add(in(received_, rank, slice), slice.count, sum_.data());
    }
    finish_elements(DataType::kFloat32, reinterpret_cast<std::byte*>(sum_.data()), slice.count,
                    {.divisor = divisor});
    float* const lost = place_.lost(slice.begin);
    if (lost != nullptr) std::fill_n(lost, slice.count, 0.0f);
    codec_.encode(sum_.data(), lost, lost, slice.count, in(sent_, own(), slice));
    for (std::size_t i = 0; lost != nullptr && i < slice.count; ++i)
      lost[i] *= static_cast<float>(divisor);
  }

  void add_own(const Slice& slice) {
    const float* const own_elements = elements(slice);
    const float* const kept = place_.residual(slice.begin);
    for (std::size_t i = 0; i < slice.count; ++i) sum_[i] += with_residual(own_elements, kept, i);
  }

  void decode(const Slice& slice, StepTally& tally) {
    codec_.decode(in(sent_, slice.shard, slice), slice.count, elements(slice));
    site_.finish_decoded(span_of(slice), 1, tally);
  }

  const BucketSite site_;
  const CodedPlace place_;
  const DenseCodec& codec_;
  const std::size_t ranks_;
  std::size_t count_, shard_, slice_, slot_bytes_;
  std::vector<std::byte> sent_;      // shards for each rank, then the encoded sums of all
  std::vector<std::byte> received_;  // the own shard of each rank
  std::vector<float> sum_;           // of one slice
  std::size_t next_ = 0;             // elements of a stage that are done
};

}  // namespace

std::unique_ptr<BucketReduction> make_dense_reduction(const BucketSite& site,
                                                      const CodedPlace& place,
                                                      const DenseCodec& codec) {
  return std::make_unique<DenseReduction>(site, place, codec);
}

}  // namespace paceline
