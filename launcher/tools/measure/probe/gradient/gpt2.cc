// GPT-2 small, whose head is its table of tokens, for sequences of 1024 tokens: Radford et al.,
// "Language Models are Unsupervised Multitask Learners", 2019. The head's part of the table's
// gradient is computed first and the rest last, so that all of it is ready last.
#include <cstddef>
#include <string>

#include "launcher/tools/measure/probe/gradient/trace.h"
#include "launcher/tools/measure/probe/gradient/transformer.h"

namespace paceline::probe {
namespace {

constexpr std::size_t kTokens = 1024, kVocabulary = 50'257, kPositions = 1024;
constexpr std::size_t kLayers = 12, kWidth = 768, kInner = 3072;

void add_layer(TransformerBuilder& builder, const std::string& name) {
  builder.add_norm(name + ".ln_1", kWidth);
  builder.add_linear(name + ".attn.c_attn", {.in = kWidth, .out = 3 * kWidth, .rows = kTokens});
  builder.add_attention(kWidth);
  builder.add_linear(name + ".attn.c_proj", {.in = kWidth, .out = kWidth, .rows = kTokens});
  builder.add_norm(name + ".ln_2", kWidth);
  builder.add_linear(name + ".mlp.c_fc", {.in = kWidth, .out = kInner, .rows = kTokens});
  builder.add_linear(name + ".mlp.c_proj", {.in = kInner, .out = kWidth, .rows = kTokens});
}

}  // namespace

Trace gpt2_trace() {
  TransformerBuilder builder(kTokens);
  builder.add_table("wte", kVocabulary, kWidth);
  builder.add_table("wpe", kPositions, kWidth);
  for (std::size_t layer = 0; layer < kLayers; ++layer)
    add_layer(builder, "h." + std::to_string(layer));
  builder.add_norm("ln_f", kWidth);
  builder.add_behind(2 * static_cast<double>(kTokens * kWidth * kVocabulary));
  return {.name = "gpt2",
          .model = "GPT-2 small with tied head, sequences of 1024 tokens",
          .tensors = builder.take()};
}

}  // namespace paceline::probe
