// Of the largest elements of a bucket.
#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "collectives/gradient/codecs/top_k.h"
#include "collectives/gradient/coded_reduction.h"
#include "collectives/gradient/whole_reduction.h"
#include "collectives/requests.h"

namespace paceline {
namespace {

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
      codec_.encode(elements(), place_.residual(), place_.lost(), count(), entries_, own_.data());
      return true;
    }
    if (next_ == 0) add_all();
    return finish_next(tally);
  }

  OperationRequest request(std::size_t, bool) override {
    return requests::all_gather(own_.data(), all_.data(), bytes_, DataType::kUInt8);
  }

 private:
  float* elements() const { return reinterpret_cast<float*>(site_.at(place_.span.begin)); }
  std::size_t count() const { return place_.span.bytes / sizeof(float); }

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

}  // namespace

std::unique_ptr<BucketReduction> make_top_k_reduction(const BucketSite& site,
                                                      const CodedPlace& place) {
  return std::make_unique<TopKReduction>(site, place);
}

}  // namespace paceline
