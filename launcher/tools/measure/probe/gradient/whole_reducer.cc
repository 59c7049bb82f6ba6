// No overlap: all gradients lie in one array, which is averaged in one operation after backward.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <paceline/buffer.h>
#include <paceline/types.h>

#include "comm/base/try.h"
#include "launcher/tools/measure/probe/gradient/reducer.h"

namespace paceline::probe {
namespace {

class WholeReducer final : public Reducer {
 public:
  WholeReducer(Communicator& world, const Trace& trace, Buffer buffer)
      : world_(world), buffer_(std::move(buffer)), all_(buffer_.as<float>()) {
    std::size_t begin = 0;
    for (const TraceTensor& tensor : trace.tensors) {
      gradients_.push_back(all_.subspan(begin, tensor.count));
      begin += tensor.count;
    }
    std::fill(all_.begin(), all_.end(), 0.0F);
  }

  std::span<float> gradient(std::size_t tensor) override { return gradients_[tensor]; }
  Status ready(std::size_t /*tensor*/) override { return Status(); }
  Status wait() override { return world_.all_reduce(all_, ReduceOp::kAvg); }

 private:
  Communicator& world_;
  Buffer buffer_;
  std::span<float> all_;
  std::vector<std::span<float>> gradients_;
};

}  // namespace

Result<std::unique_ptr<Reducer>> make_whole_reducer(Communicator& world, const Trace& trace,
                                                    const GradientOrders& /*orders*/) {
  PACELINE_TRY_ASSIGN(Buffer buffer, Buffer::allocate(trace.bytes()));
  return std::unique_ptr<Reducer>(std::make_unique<WholeReducer>(world, trace, std::move(buffer)));
}

}  // namespace paceline::probe
