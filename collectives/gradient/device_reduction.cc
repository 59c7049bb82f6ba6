#include "collectives/gradient/device_reduction.h"

#include <utility>
#include <vector>

#include <paceline/reduce_rule.h>
#include <paceline/tensor.h>

#include "collectives/reduce/elements.h"
#include "collectives/requests.h"
#include "collectives/staging.h"
#include "comm/base/with_type.h"

namespace paceline {
namespace {

class DeviceReduction final : public DeviceBucket {
 public:
  DeviceReduction(const DeviceSite& site, std::size_t number, const Bucket& bucket, DataType type)
      : DeviceBucket(site, number, bucket), type_(type) {
    for (const ByteSpan& span : bucket.spans)
      tensors_.push_back({.in = site.mirror.at(span.begin),
                          .out = site.mirror.at(span.begin),
                          .count = span.bytes / size_of(type)});
  }

  std::size_t operations() const override { return 1; }
  std::size_t plain_bytes(std::size_t) const override { return bucket_.bytes(); }

  OperationRequest request(std::size_t, bool) override {
    const Status ordered = site_.mirror.order_after(bucket_.gradients);
    if (ordered.ok() && site_.options.finds_overflow)
      (void)site_.looks->begin(number_, When::kBefore, bucket_.spans, type_);
    const Tensor& first = tensors_.front();
    OperationRequest request =
        tensors_.size() == 1
            ? requests::all_reduce(first.in, first.out, first.count, type_, rule())
            : request_of(tensors_, requests::all_reduce(nullptr, nullptr, 0, type_, rule()));
    request.stream = site_.mirror.stream(When::kBefore);
    return request;
  }

 private:
  Status enqueue_end() override {
    return site_.looks->begin(number_, When::kAfter, bucket_.spans, type_);
  }

  ReduceRule rule() const {
    if (!site_.options.is_average) return ReduceOp::kSum;
    if (with_data_ == static_cast<std::uint64_t>(site_.ranks)) return ReduceOp::kAvg;
    return with_type(type_, [this]<class T>(T) {
      T factor;
      reduce::store_element<T>(&factor, 0,
                               static_cast<reduce::Wide<T>>(1 / static_cast<double>(with_data_)));
      return ReduceRule::pre_multiplied_sum(factor);
    });
  }

  const DataType type_;
  std::vector<Tensor> tensors_;  // the spans
};

}  // namespace

std::unique_ptr<BucketReduction> make_device_reduction(const DeviceSite& site, std::size_t number,
                                                       const Bucket& bucket, DataType type) {
  return std::make_unique<DeviceReduction>(site, number, bucket, type);
}

}  // namespace paceline
