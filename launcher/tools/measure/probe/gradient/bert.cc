// BERT-base, uncased, with its pooler and without a head, as in Hugging Face's BertModel, for
// sequences of 128 tokens: Devlin et al., "BERT", NAACL 2019.
#include <cstddef>
#include <string>

#include "launcher/tools/measure/probe/gradient/trace.h"
#include "launcher/tools/measure/probe/gradient/transformer.h"

namespace paceline::probe {
namespace {

constexpr std::size_t kTokens = 128, kVocabulary = 30'522, kPositions = 512, kTypes = 2;
constexpr std::size_t kLayers = 12, kWidth = 768, kInner = 3072;

void add_layer(TransformerBuilder& builder, const std::string& name) {
  const TransformerBuilder::Linear square{.in = kWidth, .out = kWidth, .rows = kTokens};
  for (const char* part : {"query", "key", "value"})
    builder.add_linear(name + ".attention.self." + part, square);
  builder.add_attention(kWidth);
  builder.add_linear(name + ".attention.output.dense", square);
  builder.add_norm(name + ".attention.output.LayerNorm", kWidth);
  builder.add_linear(name + ".intermediate.dense", {.in = kWidth, .out = kInner, .rows = kTokens});
  builder.add_linear(name + ".output.dense", {.in = kInner, .out = kWidth, .rows = kTokens});
  builder.add_norm(name + ".output.LayerNorm", kWidth);
}

}  // namespace

Trace bert_trace() {
  TransformerBuilder builder(kTokens);
  builder.add_table("embeddings.word_embeddings", kVocabulary, kWidth);
  builder.add_table("embeddings.position_embeddings", kPositions, kWidth);
  builder.add_table("embeddings.token_type_embeddings", kTypes, kWidth);
  builder.add_norm("embeddings.LayerNorm", kWidth);
  for (std::size_t layer = 0; layer < kLayers; ++layer)
    add_layer(builder, "encoder.layer." + std::to_string(layer));
  builder.add_linear("pooler.dense", {.in = kWidth, .out = kWidth, .rows = 1});
  return {.name = "bert",
          .model = "BERT-base uncased with pooler, sequences of 128 tokens",
          .tensors = builder.take()};
}

}  // namespace paceline::probe
