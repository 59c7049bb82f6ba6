// Of buckets that are encoded as a whole.
#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "collectives/gradient/codecs/power_sgd.h"
#include "collectives/gradient/codecs/top_k.h"
#include "collectives/gradient/coded_reduction.h"

namespace paceline {
namespace {

// What both have in common: the last stage finishes slice by slice.
class WholeReduction : public BucketReduction {
 public:
  void begin() override { next_ = 0; }

 protected:
  WholeReduction(const BucketSite& site, const CodedPlace& place) : site_(site), place_(place) {}

  float* elements() const { return reinterpret_cast<float*>(site_.at(place_.span.begin)); }
  std::size_t count() const { return place_.span.bytes / sizeof(float); }
  bool finish_next(StepTally& tally) {
    const ByteSpan part{.begin = place_.span.begin + next_,
                        .bytes = std::min(kSliceBytes, place_.span.bytes - next_)};
    site_.finish_decoded(part, site_.divisor(tally), tally);
    next_ += part.bytes;
    return next_ == place_.span.bytes;
  }

  const BucketSite site_;
  const CodedPlace place_;
  std::size_t next_ = 0;  // bytes of the last stage that are done
};

class TopKReduction final : public WholeReduction {
 public:
  TopKReduction(const BucketSite& site, const CodedPlace& place)
      : WholeReduction(site, place),
        entries_(TopK::entries(count(), site.options().top_k_share)),
        bytes_(TopK::encoded_bytes(entries_)),
        own_(bytes_),
        all_(bytes_ * static_cast<std::size_t>(place.ranks)) {}

  std::size_t operations() const override { return 1; }
  std::size_t plain_bytes(std::size_t) const override { return all_.size() / 2; }

  bool work(std::size_t stage, StepTally& tally) override {
    if (stage == 0) {
      site_.look(place_.span, tally);
      codec_.encode(elements(), place_.residual, count(), entries_, own_.data());
      return true;
    }
    if (next_ == 0) add_all();
    return finish_next(tally);
  }

  OperationRequest request(std::size_t) override {
    return {
        .signature = {.count = bytes_, .kind = OperationKind::kAllGather, .type = DataType::kUInt8},
        .input = own_.data(),
        .output = all_.data()};
  }

 private:
  // What is no encoding counts as what is not finite: the step is not to be used.
  void add_all() {
    std::fill_n(elements(), count(), 0.0f);
    for (std::size_t begin = 0; begin < all_.size(); begin += bytes_)
      if (!add_top_k(std::span(all_).subspan(begin, bytes_), count(), elements()))
        elements()[0] = std::numeric_limits<float>::quiet_NaN();
  }

  TopK codec_;
  const std::size_t entries_, bytes_;
  std::vector<std::byte> own_, all_;
};

class PowerSgdReduction final : public WholeReduction {
 public:
  PowerSgdReduction(const BucketSite& site, const CodedPlace& place, std::uint64_t seed)
      : WholeReduction(site, place),
        codec_(count(), static_cast<std::size_t>(site.options().power_sgd_rank), seed) {}

  std::size_t operations() const override { return 2; }

  bool work(std::size_t stage, StepTally& tally) override {
    if (stage == 0) {
      site_.look(place_.span, tally);
      factor_ = codec_.project(elements(), place_.residual);
      return true;
    }
    if (stage == 1) {
      factor_ = codec_.back_project(elements(), place_.residual);
      site_.clear_padding(place_.span, reinterpret_cast<std::byte*>(place_.residual));
      return true;
    }
    if (next_ == 0) codec_.expand(elements());
    return finish_next(tally);
  }

  std::size_t plain_bytes(std::size_t) const override { return factor_.size_bytes(); }

  OperationRequest request(std::size_t) override {
    auto* const floats = reinterpret_cast<std::byte*>(factor_.data());
    return {.signature = {.count = factor_.size(),
                          .kind = OperationKind::kAllReduce,
                          .type = DataType::kFloat32,
                          .op = ReduceOp::kSum},
            .input = floats,
            .output = floats};
  }

 private:
  PowerSgd codec_;
  std::span<float> factor_;
};

}  // namespace

std::unique_ptr<BucketReduction> make_top_k_reduction(const BucketSite& site,
                                                      const CodedPlace& place) {
  return std::make_unique<TopKReduction>(site, place);
}

std::unique_ptr<BucketReduction> make_power_sgd_reduction(const BucketSite& site,
                                                          const CodedPlace& place,
                                                          std::uint64_t seed) {
  return std::make_unique<PowerSgdReduction>(site, place, seed);
}

}  // namespace paceline
