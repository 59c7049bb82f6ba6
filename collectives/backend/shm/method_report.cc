#include "collectives/backend/shm/method_report.h"

#include <algorithm>
#include <utility>

#include "collectives/backend/shm/layout.h"

namespace paceline::shm {
namespace {

std::string bytes_text(std::size_t bytes) { return std::to_string(bytes) + " B"; }

std::string operation_text(OperationKind kind, std::size_t bytes) {
  std::string text(name(kind));
  if (bytes > 0) text += " of " + bytes_text(bytes);
  return text;
}

std::string named(Method method) { return std::string(word_of(method)); }

// Why it is this one, where none is forced or the forced one cannot carry it.
std::string reason(Method method, std::size_t bytes, const MethodChoice& choice,
                   const MethodTerms& terms) {
  switch (method) {
    case Method::kEager:
      return terms.shares_cpus ? "each rank has a different result"
                               : "each rank has its own CPU and reads the data of all ranks";
    case Method::kGathered:
      return "ranks share CPUs, and the last rank to arrive does the work of all";
    case Method::kZeroCopy:
      return "it is longer than " +
             bytes_text(std::max(choice.most_short.bytes_beside_buffers, choice.most_staged)) +
             ", and all arrays are in buffers";
    case Method::kPipelined:
      break;
  }
  if (bytes <= choice.most_staged)
    return "ranks share CPUs, and copying so little takes less time than another synchronization";
  const std::string places = terms.has_buffers ? "not all arrays are in buffers"
                                               : "the ranks cannot map each other's buffers";
  return "it is longer than " + bytes_text(choice.most_short.bytes) + ", and " + places;
}

std::string thresholds(const MethodChoice& choice) {
  const auto& [most, beside_buffers] = choice.most_short;
  std::string text = named(choice.of_short) + " up to " + bytes_text(most);
  if (beside_buffers < most)
    text += " (" + bytes_text(beside_buffers) + " after operations on buffers)";
  if (choice.most_staged > most)
    text += ", " + named(Method::kPipelined) + " up to " + bytes_text(choice.most_staged);
  text += ", above that ";
  if (choice.of_long == Method::kZeroCopy)
    text += named(Method::kZeroCopy) + " if all arrays are in buffers, else ";
  return text + named(Method::kPipelined);
}

std::size_t class_of(std::size_t bytes, bool in_buffers, const MethodChoice& choice) {
  const MostShort& most = choice.most_short;
  if (bytes == 0) return 0;
  if (bytes > (in_buffers ? most.bytes_beside_buffers : most.bytes))
    return bytes <= choice.most_staged ? 3 : 4;
  return bytes <= Line::kDataBytes ? 1 : 2;
}

}  // namespace

std::string explanation(OperationKind kind, std::size_t bytes, bool in_buffers,
                        const MethodTerms& terms) {
  const MethodChoice choice = choose(kind, terms);
  const Method method = method_of(choice, bytes, in_buffers);
  std::string text = operation_text(kind, bytes) + ": " + named(method);
  const bool is_posted = method == Method::kEager || method == Method::kGathered;
  if (is_posted && bytes > 0)
    text += bytes <= Line::kDataBytes ? " in the flag's cache line" : " in a post";
  const std::string refused = objection(kind, bytes, in_buffers, terms);
  if (!refused.empty()) {
    text +=
        ", because PACELINE_SHM_METHOD=" + named(*terms.forced) + " is not possible: " + refused;
  } else if (terms.forced == method) {
    text += ", as set by PACELINE_SHM_METHOD";
  } else {
    text += ", because " + reason(method, bytes, choice, terms);
  }
  const bool is_measured = terms.measured[static_cast<std::size_t>(kind)] != MeasuredSize();
  return text + "; " + thresholds(choice) + " (" + std::to_string(terms.ranks) + " ranks" +
         (is_measured ? ", by `paceline tune`)" : ")");
}

std::string objection(OperationKind kind, std::size_t bytes, bool in_buffers,
                      const MethodTerms& terms) {
  if (!terms.forced || bytes == 0 || kind == OperationKind::kClose) return {};
  if (method_of(choose(kind, terms), bytes, in_buffers) == *terms.forced) return {};
  switch (*terms.forced) {
    case Method::kGathered:
      if (flow_of(kind) != Flow::kShared)
        return "only all_reduce and barrier have the same result on every rank";
      [[fallthrough]];
    case Method::kEager:
      return "max " + bytes_text(terms.post_bytes);
    case Method::kZeroCopy:
      return terms.has_buffers ? "not all arrays are in buffers"
                               : "the ranks cannot map each other's buffers";
    case Method::kPipelined:
      break;
  }
  return {};
}

MethodReport::MethodReport(std::shared_ptr<Log> log, Says says, const MethodTerms& terms)
    : log_(std::move(log)), says_(says), terms_(terms) {
  for (const OperationKind kind : kOperationKinds)
    choices_[static_cast<std::size_t>(kind)] = choose(kind, terms);
}

void MethodReport::note(OperationKind kind, std::size_t bytes, bool in_buffers) {
  if (kind == OperationKind::kClose) return;
  const auto which = static_cast<std::size_t>(kind);
  bool& told =
      told_[which][2 * class_of(bytes, in_buffers, choices_[which]) + (in_buffers ? 1 : 0)];
  if (told) return;
  told = true;
  tell(kind, bytes, in_buffers);
}

void MethodReport::tell(OperationKind kind, std::size_t bytes, bool in_buffers) {
  if (says_ == Says::kExplanations)
    return log_->write(Severity::kInfo, explanation(kind, bytes, in_buffers, terms_));
  const std::string refused = objection(kind, bytes, in_buffers, terms_);
  if (refused.empty()) return;
  log_->write(Severity::kWarning, "PACELINE_SHM_METHOD=" + named(*terms_.forced) +
                                      " is not possible for " + operation_text(kind, bytes) + ": " +
                                      refused);
}

}  // namespace paceline::shm
