// Buckets in the memory of a device in the codecs bf16 and fp16, by kernels/halves.h.
#include <utility>

#include "collectives/gradient/device_reduction.h"
#include "collectives/gradient/kernels/halves.h"
#include "collectives/gradient/kernels/image.h"
#include "collectives/requests.h"
#include "comm/base/try.h"

namespace paceline {
namespace {

constexpr std::size_t kSlotAlignment = 256;
constexpr std::size_t kCodeBytes = 2;

on_device::Slots slots_of(const Bucket& bucket, int ranks) {
  constexpr std::size_t kMultiple = kSlotAlignment / kCodeBytes;
  const std::size_t count = bucket.bytes() / sizeof(float);
  const auto shares = static_cast<std::size_t>(ranks) * kMultiple;
  const std::size_t shard = (count + shares - 1) / shares * kMultiple;
  return {.count = count, .shard = shard, .slot_bytes = shard * kCodeBytes};
}

struct CodecKernels {
  GradientKernel encode, sum, decode;
};
constexpr CodecKernels kBf16{GradientKernel::encode_bf16, GradientKernel::sum_bf16,
                             GradientKernel::decode_bf16};
constexpr CodecKernels kFp16{GradientKernel::encode_fp16, GradientKernel::sum_fp16,
                             GradientKernel::decode_fp16};

// A shard for each rank, as in DenseReduction.
class DeviceDenseReduction final : public DeviceBucket {
 public:
  DeviceDenseReduction(const DeviceSite& site, std::size_t number, const Bucket& bucket,
                       const CodecKernels& kernels)
      : DeviceBucket(site, number, bucket),
        kernels_(kernels),
        slots_(slots_of(bucket, site.ranks)),
        all_bytes_(slots_.slot_bytes * static_cast<std::size_t>(site.ranks)) {}
  ~DeviceDenseReduction() override { release(); }

  std::size_t operations() const override { return 2; }
  // Each rank sends all slots but its own, or its own to all others.
  std::size_t plain_bytes(std::size_t) const override { return all_bytes_ / 2; }

  // After an error the communicator has ended, and refuses the operation.
  OperationRequest request(std::size_t operation, bool) override {
    (void)(operation == 0 ? enqueue_encode() : enqueue_sum());
    OperationRequest request =
        operation == 0
            ? requests::all_to_all(sent(), received(), slots_.slot_bytes, DataType::kUInt8)
            : requests::all_gather(sent() + own() * slots_.slot_bytes, sent(), slots_.slot_bytes,
                                   DataType::kUInt8);
    request.stream = site_.mirror.stream(operation == 0 ? When::kBefore : When::kAfter);
    return request;
  }

 private:
  std::size_t own() const { return static_cast<std::size_t>(site_.rank); }
  std::byte* sent() const { return scratch_.memory; }
  std::byte* received() const { return scratch_.memory + all_bytes_; }
  std::size_t offset() const { return bucket_.spans.front().begin; }
  float* elements() const { return reinterpret_cast<float*>(site_.mirror.at(offset())); }

  Status enqueue_encode() {
    PACELINE_TRY(site_.mirror.order_after(bucket_.gradients));
    PACELINE_TRY_ASSIGN(scratch_, site_.scratch.take());
    const on_device::EncodeArguments arguments{
        .slots = slots_,
        .elements = elements(),
        .codes = sent(),
        .own = own(),
        .offset = offset(),
        .findings = site_.looks->place(number_, When::kBefore)};
    PACELINE_TRY(site_.mirror.launch(gradient_kernel(kernels_.encode), arguments, When::kBefore));
    if (!site_.options.finds_overflow) return {};
    return site_.looks->bring(number_, When::kBefore);
  }

  Status enqueue_sum() {
    const on_device::SumArguments arguments{.slots = slots_,
                                            .elements = elements(),
                                            .codes = received(),
                                            .own = own(),
                                            .ranks = static_cast<std::uint64_t>(site_.ranks),
                                            .divisor = site_.options.is_average ? with_data_ : 1,
                                            .sum = sent() + own() * slots_.slot_bytes};
    return site_.mirror.launch(gradient_kernel(kernels_.sum), arguments, When::kAfter);
  }

  Status enqueue_end() override {
    const on_device::DecodeArguments arguments{
        .slots = slots_,
        .codes = sent(),
        .elements = elements(),
        .offset = offset(),
        .findings = site_.looks->place(number_, When::kAfter)};
    PACELINE_TRY(site_.mirror.launch(gradient_kernel(kernels_.decode), arguments, When::kAfter));
    return site_.looks->bring(number_, When::kAfter);
  }

  void release() override {
    if (scratch_.memory != nullptr) site_.scratch.give_back(std::exchange(scratch_, {}));
  }

  const CodecKernels& kernels_;
  const on_device::Slots slots_;
  const std::size_t all_bytes_;   // of the slots of all ranks
  DeviceScratch::Piece scratch_;  // of this step: slots to send, then those that were received
};

}  // namespace

std::size_t device_dense_scratch_bytes(const Bucket& bucket, int ranks) {
  return 2 * slots_of(bucket, ranks).slot_bytes * static_cast<std::size_t>(ranks);
}

std::unique_ptr<BucketReduction> make_device_dense_reduction(const DeviceSite& site,
                                                             std::size_t number,
                                                             const Bucket& bucket, Codec codec) {
  return std::make_unique<DeviceDenseReduction>(site, number, bucket,
                                                codec == Codec::kBf16 ? kBf16 : kFp16);
}

}  // namespace paceline
