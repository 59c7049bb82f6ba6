// The gradient pipeline: it reduces while backward goes on.
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <paceline/gradient_pipeline.h>

#include "comm/base/try.h"
#include "launcher/tools/measure/probe/gradient/reducer.h"

namespace paceline::probe {
namespace {

class PipelineReducer final : public Reducer {
 public:
  explicit PipelineReducer(GradientPipeline pipeline) : pipeline_(std::move(pipeline)) {}

  std::span<float> gradient(std::size_t tensor) override {
    return pipeline_.gradient<float>(tensor);
  }
  Status ready(std::size_t tensor) override { return pipeline_.ready(tensor); }
  Status wait() override { return pipeline_.wait().status(); }
  Duration own_cpu() const override { return pipeline_.stats().own_cpu; }
  std::uint64_t bytes_sent() const override { return pipeline_.stats().bytes_sent; }

 private:
  GradientPipeline pipeline_;
};

}  // namespace

Result<std::unique_ptr<Reducer>> make_pipeline_reducer(Communicator& world, const Trace& trace,
                                                       const GradientOrders& orders) {
  const std::optional<Codec> codec = parse_codec(orders.codec);
  if (!codec)
    return Status(Code::kInvalidArgument, Scope::kProcess, "unknown codec '" + orders.codec + "'");
  std::vector<Parameter> parameters;
  for (const TraceTensor& tensor : trace.tensors)
    parameters.push_back({.name = tensor.name, .count = tensor.count, .columns = tensor.columns});
  PACELINE_TRY_ASSIGN(GradientPipeline pipeline,
                      GradientPipeline::create(world, std::move(parameters), {.codec = *codec}));
  return std::unique_ptr<Reducer>(std::make_unique<PipelineReducer>(std::move(pipeline)));
}

}  // namespace paceline::probe
