#include "collectives/backend/shm/method_report.h"

#include <utility>

#include "collectives/backend/shm/layout.h"

namespace paceline::shm {
namespace {

std::string bytes_text(std::size_t bytes) { return std::to_string(bytes) + " B"; }

std::string operation_text(const Done& done) {
  std::string text(name(done.kind));
  if (done.bytes > 0) text += " of " + bytes_text(done.bytes);
  return text;
}

std::string named(Method method) { return std::string(word_of(method)); }

bool fits_line(std::size_t bytes) { return bytes <= Line::kDataBytes; }

// The end of the sizes below those that go as an operation does; none: it is of the first.
std::optional<std::size_t> begin_of(const Way& way, const Choice& choice) {
  std::optional<std::size_t> begin;
  for (const Way& one : choice.ways) {
    if (one == way) break;
    begin = one.most_bytes;
  }
  return begin;
}

std::string reason(const Done& done, const Choice& choice) {
  const Way& way = choice.way(done.bytes);
  std::string text;
  if (const auto begin = begin_of(way, choice))
    text = "it is longer than " + bytes_text(*begin) + ", and ";
  if (done.method == way.ordinary) return text.append(way.why);
  return text + (done.method == way.in_buffers ? "all" : "not all") + " arrays are in buffers";
}

std::string limits(const Choice& choice) {
  std::string text;
  for (const Way& way : choice.ways) {
    std::string methods = named(way.ordinary);
    if (way.in_buffers != way.ordinary)
      methods = named(way.in_buffers) + " if all arrays are in buffers, else " + methods;
    if (way.most_bytes == SIZE_MAX) return text + ", above that " + methods;
    text += text.empty() ? methods + " up to " + bytes_text(way.most_bytes)
                         : ", up to " + bytes_text(way.most_bytes) + " " + methods;
  }
  return text;
}

}  // namespace

std::string explanation(const Done& done, const Choice& choice, const MethodTerms& terms) {
  std::string text = operation_text(done) + ": " + named(done.method);
  const bool is_posted = done.method == Method::kEager || done.method == Method::kGathered;
  if (is_posted && done.bytes > 0)
    text += fits_line(done.bytes) ? " in the flag's cache line" : " in a post";
  const std::string refused = objection(done, terms);
  if (!refused.empty()) {
    text +=
        ", because PACELINE_SHM_METHOD=" + named(*terms.forced) + " is not possible: " + refused;
  } else if (terms.forced == done.method) {
    text += ", as set by PACELINE_SHM_METHOD";
  } else {
    text += ", because " + reason(done, choice);
  }
  const bool is_measured = terms.measured[static_cast<std::size_t>(done.kind)] != MeasuredLimits();
  return text + "; " + limits(choice) + " (" + std::to_string(terms.ranks) + " ranks" +
         (is_measured ? ", by `paceline tune`)" : ")");
}

std::string objection(const Done& done, const MethodTerms& terms) {
  if (!terms.forced || done.bytes == 0 || done.kind == OperationKind::kClose) return {};
  if (done.method == *terms.forced) return {};
  switch (*terms.forced) {
    case Method::kGathered:
      if (flow_of(done.kind) != Flow::kShared)
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

void MethodReport::note(const Done& done, const Choice& choice) {
  if (done.kind == OperationKind::kClose) return;
  const std::size_t most_bytes = choice.way(done.bytes).most_bytes;
  if (!told_.emplace(done.kind, most_bytes, done.method, fits_line(done.bytes)).second) return;
  if (says_ == Says::kExplanations)
    return log_->write(Severity::kInfo, explanation(done, choice, terms_));
  const std::string refused = objection(done, terms_);
  if (refused.empty()) return;
  log_->write(Severity::kWarning, "PACELINE_SHM_METHOD=" + named(*terms_.forced) +
                                      " is not possible for " + operation_text(done) + ": " +
                                      refused);
}

}  // namespace paceline::shm
