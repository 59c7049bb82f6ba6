#include "launcher/tools/measure/probe/gradient/trace.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::probe {
namespace {

const TraceTensor& tensor_of(const Trace& trace, const std::string& name) {
  const auto found = std::ranges::find(trace.tensors, name, &TraceTensor::name);
  EXPECT_NE(found, trace.tensors.end()) << name;
  return found != trace.tensors.end() ? *found : trace.tensors.front();
}

bool is_bias(const TraceTensor& tensor) { return tensor.name.ends_with(".bias"); }

TEST(Trace, EveryModelHasThePublishedNumberOfParameters) {
  EXPECT_EQ(trace_names(), (std::vector<std::string>{"resnet50", "bert", "gpt2"}));
  EXPECT_EQ(find_trace("resnet50")->elements(), 25'557'032u);
  EXPECT_EQ(find_trace("bert")->elements(), 109'482'240u);
  EXPECT_EQ(find_trace("gpt2")->elements(), 124'439'808u);
  EXPECT_EQ(find_trace("resnet50")->tensors.size(), 161u);
  EXPECT_EQ(find_trace("bert")->tensors.size(), 199u);
  EXPECT_EQ(find_trace("gpt2")->tensors.size(), 148u);
  EXPECT_EQ(find_trace("resnet50")->bytes(), 4 * 25'557'032u);
  EXPECT_FALSE(find_trace("vgg16"));
}

TEST(Trace, ResNetIsInTheOrderOfTorchvision) {
  const Trace trace = resnet50_trace();
  const std::vector<std::string> names{"conv1.weight", "bn1.weight", "bn1.bias",
                                       "layer1.0.conv1.weight"};
  for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(trace.tensors[i].name, names[i]);
  EXPECT_EQ(trace.tensors.front().count, 9408u);
  EXPECT_EQ(tensor_of(trace, "layer1.0.downsample.0.weight").count, 16'384u);
  EXPECT_EQ(tensor_of(trace, "layer4.0.conv2.weight").count, 2'359'296u);
  EXPECT_EQ(tensor_of(trace, "fc.weight").count, 2'048'000u);
  EXPECT_EQ(trace.tensors.back().name, "fc.bias");
}

// 4.09 G multiplications with additions, by torchvision's own count.
TEST(Trace, ResNetWorksAsPublished) {
  double work = 0;
  for (const TraceTensor& tensor : resnet50_trace().tensors)
    if (!is_bias(tensor) && tensor.name.find("bn") == tensor.name.npos &&
        tensor.name.find("downsample.1") == tensor.name.npos)
      work += tensor.flops / 2;
  EXPECT_EQ(work, 4'089'184'256);
}

TEST(Trace, TablesOfTransformersAreFirstAndTakeNoTime) {
  for (const Trace& trace : {bert_trace(), gpt2_trace()}) {
    const TraceTensor& table = trace.tensors.front();
    EXPECT_GT(table.count, trace.elements() / 5) << trace.name;
    EXPECT_LT(table.flops + table.flops_behind, trace.flops() / 1000) << trace.name;
  }
}

// Two operations for each weight and token of the linear layers, and attention.
TEST(Trace, TransformersWorkByTheirWeights) {
  const Trace bert = bert_trace();
  EXPECT_EQ(tensor_of(bert, "encoder.layer.0.intermediate.dense.weight").flops,
            2.0 * 128 * 768 * 3072);
  EXPECT_EQ(tensor_of(bert, "encoder.layer.11.attention.self.value.bias").flops_behind,
            4.0 * 128 * 128 * 768);
  const Trace gpt2 = gpt2_trace();
  EXPECT_EQ(gpt2.tensors.back().name, "ln_f.bias");
  EXPECT_EQ(gpt2.tensors.back().flops_behind, 2.0 * 1024 * 768 * 50'257);
}

// (out, in × k × k), as PowerSGD takes them.
TEST(Trace, LayersAreMatricesAndAllElseVectors) {
  const Trace resnet = resnet50_trace(), bert = bert_trace();
  EXPECT_EQ(tensor_of(resnet, "conv1.weight").columns, 3u * 7 * 7);
  EXPECT_EQ(tensor_of(resnet, "layer4.0.conv2.weight").columns, 512u * 3 * 3);
  EXPECT_EQ(tensor_of(resnet, "fc.weight").columns, 2048u);
  EXPECT_EQ(tensor_of(bert, "embeddings.word_embeddings.weight").columns, 768u);
  EXPECT_EQ(tensor_of(bert, "encoder.layer.0.output.dense.weight").columns, 3072u);
  for (const std::string& name : trace_names()) {
    const Trace trace = *find_trace(name);
    for (const TraceTensor& tensor : trace.tensors) {
      ASSERT_GT(tensor.columns, 0u) << tensor.name;
      EXPECT_EQ(tensor.count % tensor.columns, 0u) << tensor.name;
      EXPECT_TRUE(!is_bias(tensor) || tensor.columns == tensor.count) << tensor.name;
    }
  }
}

TEST(Trace, BiasesAndNormsTakeLittle) {
  for (const std::string& name : trace_names()) {
    const Trace trace = *find_trace(name);
    double little = 0;
    for (const TraceTensor& tensor : trace.tensors)
      if (is_bias(tensor)) little += tensor.flops;
    EXPECT_LT(little, trace.flops() / 100) << name;
  }
}

TEST(Trace, AScaledOneHasFewerElementsAndTheSameWork) {
  const Trace trace = resnet50_trace(), small = scaled(trace, 0.01);
  EXPECT_EQ(small.tensors.size(), trace.tensors.size());
  EXPECT_EQ(small.tensors.front().count, 94u);
  EXPECT_EQ(small.tensors[1].count, 1u);
  EXPECT_EQ(small.tensors.front().columns, 0u) << "147 are more than there are";
  EXPECT_EQ(tensor_of(small, "fc.bias").columns, 10u);
  EXPECT_EQ(tensor_of(scaled(trace, 0.5), "fc.weight").columns, 2048u);
  EXPECT_EQ(small.flops(), trace.flops());
  EXPECT_EQ(scaled(trace, 1), trace);
  EXPECT_EQ(scaled(trace, 1e-9).elements(), 161u);
}

}  // namespace
}  // namespace paceline::probe
