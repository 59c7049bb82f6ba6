#include "collectives/gradient/plain_reduction.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "collectives/requests.h"

namespace paceline {
namespace {

class PlainReduction final : public BucketReduction {
 public:
  PlainReduction(const BucketSite& site, Bucket bucket, int ranks)
      : site_(site),
        bucket_(std::move(bucket)),
        ranks_(static_cast<std::uint64_t>(ranks)),
        always_divides_(site.options().is_average && site.type() == DataType::kFloat16) {
    if (bucket_.spans.size() > 1) together_.resize(bucket_.bytes());
  }

  std::size_t operations() const override { return 1; }
  void begin() override { rewind(); }

  bool work(std::size_t stage, StepTally& tally) override {
    const Quotient quotient = quotient_of(tally);
    const bool looks = stage == 0 ? site_.options().finds_overflow : site_.has_to_finish(quotient);
    if (looks || !together_.empty()) {
      const ByteSpan part = next_part();
      if (stage == 0)
        prepare(part, tally);
      else
        finish(part, quotient, tally);
      if (span_ < bucket_.spans.size()) return false;
    }
    rewind();
    return true;
  }

  std::size_t plain_bytes(std::size_t) const override { return bucket_.bytes(); }

  OperationRequest request(std::size_t, bool all_have_data) override {
    is_divided_ = always_divides_ || (all_have_data && site_.options().is_average);
    std::byte* const elements =
        together_.empty() ? site_.at(bucket_.spans.front().begin) : together_.data();
    return requests::all_reduce(elements, elements, bucket_.bytes() / size_of(site_.type()),
                                site_.type(), is_divided_ ? ReduceOp::kAvg : ReduceOp::kSum);
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

  // It turns the reduced elements into the result. An average of float16 has been divided by the
  // number of all ranks, because a sum may overflow.
  Quotient quotient_of(const StepTally& tally) const {
    if (!is_divided_) return {.divisor = site_.divisor(tally)};
    if (!always_divides_ || tally.ranks == ranks_) return {};
    return {.multiplier = ranks_, .divisor = tally.ranks};
  }

  void finish(const ByteSpan& part, const Quotient& quotient, StepTally& tally) {
    if (!together_.empty())
      std::memcpy(site_.at(part.begin), together_.data() + packed_, part.bytes);
    packed_ += part.bytes;
    site_.finish(part, quotient, tally);
  }

  const BucketSite site_;
  const Bucket bucket_;
  const std::uint64_t ranks_;
  const bool always_divides_;
  std::vector<std::byte> together_;  // the elements of several spans
  bool is_divided_ = false;          // what comes back
  // What comes next of a stage.
  std::size_t span_ = 0, done_ = 0;  // of it, bytes
  std::size_t packed_ = 0;           // of all spans
};

}  // namespace

std::unique_ptr<BucketReduction> make_plain_reduction(const BucketSite& site, Bucket bucket,
                                                      int ranks) {
  return std::make_unique<PlainReduction>(site, std::move(bucket), ranks);
}

}  // namespace paceline
