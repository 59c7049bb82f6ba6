#include "collectives/gradient/device_reduction.h"

#include <vector>

#include <paceline/reduce_rule.h>
#include <paceline/tensor.h>

#include "collectives/reduce/elements.h"
#include "collectives/requests.h"
#include "collectives/staging.h"
#include "comm/base/with_type.h"

namespace paceline {
namespace {

class DeviceReduction final : public BucketReduction {
 public:
  DeviceReduction(std::byte* memory, const Bucket& bucket, DataType type, int ranks,
                  bool is_average)
      : type_(type), ranks_(static_cast<std::uint64_t>(ranks)), is_average_(is_average) {
    for (const ByteSpan& span : bucket.spans)
      tensors_.push_back({.in = memory + span.begin,
                          .out = memory + span.begin,
                          .count = span.bytes / size_of(type)});
    bytes_ = bucket.bytes();
  }

  std::size_t operations() const override { return 1; }
  // A factor of the operation takes the place of a division after it.
  bool needs_ranks() const override { return true; }
  void begin() override {}
  bool work(std::size_t, StepTally& tally) override {
    with_data_ = tally.ranks;
    return true;
  }
  std::size_t plain_bytes(std::size_t) const override { return bytes_; }

  OperationRequest request(std::size_t, bool) override {
    const Tensor& first = tensors_.front();
    if (tensors_.size() == 1)
      return requests::all_reduce(first.in, first.out, first.count, type_, rule());
    return request_of(tensors_, requests::all_reduce(nullptr, nullptr, 0, type_, rule()));
  }

 private:
  ReduceRule rule() const {
    if (!is_average_) return ReduceOp::kSum;
    if (with_data_ == ranks_) return ReduceOp::kAvg;
    return with_type(type_, [this]<class T>(T) {
      T factor;
      reduce::store_element<T>(&factor, 0,
                               static_cast<reduce::Wide<T>>(1 / static_cast<double>(with_data_)));
      return ReduceRule::pre_multiplied_sum(factor);
    });
  }

  const DataType type_;
  const std::uint64_t ranks_;
  const bool is_average_;
  std::vector<Tensor> tensors_;  // the spans
  std::size_t bytes_ = 0;
  std::uint64_t with_data_ = 1;  // ranks, of this step
};

}  // namespace

std::unique_ptr<BucketReduction> make_device_reduction(std::byte* memory, const Bucket& bucket,
                                                       DataType type, int ranks, bool is_average) {
  return std::make_unique<DeviceReduction>(memory, bucket, type, ranks, is_average);
}

}  // namespace paceline
