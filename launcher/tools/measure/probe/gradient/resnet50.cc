// ResNet-50, as torchvision has it (version 1.5: the 3 x 3 convolution of a block has the stride),
// for images of 224 x 224: He et al., "Deep Residual Learning for Image Recognition", CVPR 2016.
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "launcher/tools/measure/probe/gradient/trace.h"

namespace paceline::probe {
namespace {

constexpr std::size_t kExpansion = 4;  // of a block's last convolution
constexpr std::size_t kClasses = 1000;
constexpr double kNormFlops = 2;  // for each element and for each of scale and shift

struct Stage {
  std::size_t blocks;
  std::size_t width;
  std::size_t side;  // of its outputs, in pixels
};
constexpr Stage kStages[] = {{3, 64, 56}, {4, 128, 28}, {6, 256, 14}, {3, 512, 7}};

struct Convolution {
  std::size_t in, out;
  std::size_t kernel;
  std::size_t side;  // of the output
};

class Builder {
 public:
  // With the batch norm behind it.
  void add(const std::string& name, const std::string& norm, const Convolution& layer) {
    const std::size_t columns = layer.in * layer.kernel * layer.kernel;
    const std::size_t weights = layer.out * columns;
    const auto pixels = static_cast<double>(layer.side * layer.side);
    const double norm_flops = kNormFlops * pixels * static_cast<double>(layer.out);
    tensors_.push_back({.name = name + ".weight",
                        .count = weights,
                        .columns = columns,
                        .flops = 2 * pixels * static_cast<double>(weights)});
    add_vector(norm + ".weight", layer.out, norm_flops);
    add_vector(norm + ".bias", layer.out, norm_flops);
  }

  void add_block(const std::string& name, std::size_t in, const Stage& stage, bool is_first) {
    const bool has_stride = is_first && stage.width != kStages[0].width;
    const std::size_t in_side = has_stride ? 2 * stage.side : stage.side;
    const std::size_t width = stage.width, out = width * kExpansion;
    add(name + ".conv1", name + ".bn1", {.in = in, .out = width, .kernel = 1, .side = in_side});
    add(name + ".conv2", name + ".bn2",
        {.in = width, .out = width, .kernel = 3, .side = stage.side});
    add(name + ".conv3", name + ".bn3", {.in = width, .out = out, .kernel = 1, .side = stage.side});
    if (is_first)
      add(name + ".downsample.0", name + ".downsample.1",
          {.in = in, .out = out, .kernel = 1, .side = stage.side});
  }

  void add_classifier(std::size_t in) {
    tensors_.push_back({.name = "fc.weight",
                        .count = in * kClasses,
                        .columns = in,
                        .flops = 2 * static_cast<double>(in * kClasses)});
    add_vector("fc.bias", kClasses, static_cast<double>(kClasses));
  }

  std::vector<TraceTensor> take() { return std::move(tensors_); }

 private:
  void add_vector(const std::string& name, std::size_t count, double flops) {
    tensors_.push_back({.name = name, .count = count, .columns = count, .flops = flops});
  }

  std::vector<TraceTensor> tensors_;
};

}  // namespace

Trace resnet50_trace() {
  Builder builder;
  builder.add("conv1", "bn1", {.in = 3, .out = 64, .kernel = 7, .side = 112});
  std::size_t in = 64, number = 0;
  for (const Stage& stage : kStages) {
    const std::string name = "layer" + std::to_string(++number) + ".";
    for (std::size_t block = 0; block < stage.blocks; ++block) {
      builder.add_block(name + std::to_string(block), in, stage, block == 0);
      in = stage.width * kExpansion;
    }
  }
  builder.add_classifier(in);
  return {.name = "resnet50",
          .model = "ResNet-50 (torchvision), images of 224 x 224",
          .tensors = builder.take()};
}

}  // namespace paceline::probe
