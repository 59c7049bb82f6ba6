#include "collectives/gradient/plain_reduction.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace paceline {
namespace {

class PlainReduction final : public BucketReduction {
 public:
  PlainReduction(const BucketSite& site, Bucket bucket) : site_(site), bucket_(std::move(bucket)) {
    if (bucket_.spans.size() > 1) together_.resize(bucket_.bytes());
  }

  std::size_t operations() const override { return 1; }
  void begin() override { rewind(); }

  bool work(std::size_t stage, StepTally& tally) override {
    const std::uint64_t divisor = is_divided_ ? 1 : site_.divisor(tally);
    const bool looks = stage == 0 ? site_.options().finds_overflow : site_.has_to_finish(divisor);
    if (looks || !together_.empty()) {
      const ByteSpan part = next_part();
      if (stage == 0)
        prepare(part, tally);
      else
        finish(part, divisor, tally);
      if (span_ < bucket_.spans.size()) return false;
    }
    rewind();
    return true;
  }

  std::size_t plain_bytes(std::size_t) const override { return bucket_.bytes(); }

  OperationRequest request(std::size_t, bool all_have_data) override {
    is_divided_ = all_have_data && site_.options().is_average;
    std::byte* const elements =
        together_.empty() ? site_.at(bucket_.spans.front().begin) : together_.data();
    return {.signature = {.count = bucket_.bytes() / size_of(site_.type()),
                          .kind = OperationKind::kAllReduce,
                          .type = site_.type(),
                          .op = is_divided_ ? ReduceOp::kAvg : ReduceOp::kSum},
            .input = elements,
            .output = elements};
  }

 private:
  void rewind() { span_ = done_ = packed_ = 0; }

  // Of one span.
  ByteSpan next_part() {
    const ByteSpan& span = bucket_.spans[span_];
    const ByteSpan part{.begin = span.begin + done_,
                        .bytes = std::min(span.bytes - done_, kSliceBytes)};
    done_ += part.bytes;
    if (done_ == span.bytes) {
      ++span_;
      done_ = 0;
    }
    return part;
  }

  void prepare(const ByteSpan& part, StepTally& tally) {
    site_.look(part, tally);
    if (!together_.empty())
      std::memcpy(together_.data() + packed_, site_.at(part.begin), part.bytes);
    packed_ += part.bytes;
  }

  void finish(const ByteSpan& part, std::uint64_t divisor, StepTally& tally) {
    if (!together_.empty())
      std::memcpy(site_.at(part.begin), together_.data() + packed_, part.bytes);
    packed_ += part.bytes;
    site_.finish(part, divisor, tally);
  }

  const BucketSite site_;
  const Bucket bucket_;
  std::vector<std::byte> together_;  // the elements of several spans
  bool is_divided_ = false;          // what comes back
  // What comes next of a stage.
  std::size_t span_ = 0, done_ = 0;  // of it, bytes
  std::size_t packed_ = 0;           // of all spans
};

}  // namespace

std::unique_ptr<BucketReduction> make_plain_reduction(const BucketSite& site, Bucket bucket) {
  return std::make_unique<PlainReduction>(site, std::move(bucket));
}

}  // namespace paceline
