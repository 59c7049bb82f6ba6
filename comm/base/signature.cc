#include "comm/base/signature.h"

namespace paceline {
namespace {

const char* word_of_root(OperationKind kind) {
  if (kind == OperationKind::kSend) return " to ";
  if (kind == OperationKind::kReceive) return " from ";
  return ", root ";
}

}  // namespace

bool Signature::is_same_call(const Signature& other) const {
  Signature same_past = other;
  same_past.history = history;
  return *this == same_past;
}

std::string Signature::to_string() const {
  std::string text(name(kind));
  if (has_elements(kind)) {
    const bool counts_differ = kind == OperationKind::kAllToAllV;
    text.append("(").append(counts_differ ? "" : std::to_string(count) + " x ").append(name(type));
    if (reduces(kind)) text += ", " + std::string(name(op));
    if (root >= 0) text += word_of_root(kind) + std::to_string(root);
    text += ")";
  }
  if (kind == OperationKind::kExchange)
    text.append("(").append(std::to_string(count)).append(" messages)");
  return text + (is_collective(kind) ? " #" : " before #") + std::to_string(sequence);
}

std::string difference(const Signature& mine, const Signature& theirs) {
  std::string text;
  const auto add = [&text](const char* field, auto left, auto right) {
    if (left == right) return;
    text += (text.empty() ? "" : ", ") + std::string(field) + " " + std::string(left) +
            " against " + std::string(right);
  };
  add("kind", name(mine.kind), name(theirs.kind));
  add("number", std::to_string(mine.sequence), std::to_string(theirs.sequence));
  if (mine.kind != theirs.kind) return text;  // what follows means other things to them
  add("count", std::to_string(mine.count), std::to_string(theirs.count));
  add("type", name(mine.type), name(theirs.type));
  add("op", name(mine.op), name(theirs.op));
  add("root", std::to_string(mine.root), std::to_string(theirs.root));
  if (text.empty() && mine.plan != theirs.plan) {
    if (mine.kind == OperationKind::kSend)
      return "these are different messages between the two ranks";
    text =
        "the algorithm, method or segment size differs (PACELINE_ALGORITHM, PACELINE_SHM_METHOD, "
        "PACELINE_SEGMENT_BYTES)";
    if (has_counts(mine.kind)) text = "the counts of the ranks differ, or " + text;
    if (mine.kind == OperationKind::kAllReduce)
      text = "the counts of the tensors differ, or " + text;
  }
  if (text.empty() && mine.history != theirs.history)
    text = "the operations before this one differ";
  return text;
}

}  // namespace paceline
