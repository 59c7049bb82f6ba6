#include "tests/sim/scenario_text.h"

#include <algorithm>
#include <utility>

#include "comm/base/text.h"
#include "comm/base/try.h"

namespace paceline::testing {
namespace {

constexpr std::string_view kAsynchronous = "asynchronous";
constexpr std::string_view kInPlace = "in_place";

// ---- to text ----

std::string text_of(const Call& call) {
  std::string text(name(call.kind));
  if (moves_elements(call.kind))
    text += "," + std::to_string(call.count) + "," + std::string(name(call.type));
  if (reduces(call.kind)) text += "," + std::string(name(call.op));
  if (has_root(call.kind)) text += "," + std::to_string(call.root);
  if (call.asynchronous) text.append(",").append(kAsynchronous);
  if (call.in_place) text.append(",").append(kInPlace);
  return text;
}

std::string text_of(const std::vector<int>& ranks) {
  std::string text;
  for (const int rank : ranks) text += (text.empty() ? "" : ".") + std::to_string(rank);
  return text;
}

std::string text_of(const Deviation& deviation) {
  std::string text = text_of(deviation.ranks) + "@" + std::to_string(deviation.index);
  switch (deviation.kind) {
    case Deviation::Kind::kReplace:
      return text + ":replace=" + text_of(deviation.call);
    case Deviation::Kind::kSkip:
      return text + ":skip";
    case Deviation::Kind::kSwap:
      return text + ":swap";
  }
  return text;
}

// The words of the kinds, in their order.
constexpr std::string_view kFaults[] = {"lose", "cut", "stop", "slow"};

std::string text_of(const Fault& fault) {
  std::string text(kFaults[static_cast<std::size_t>(fault.kind)]);
  text += "=" + text_of(fault.ranks) + "@" + std::to_string(fault.step);
  if (fault.lasts.count() > 0) text += "+" + std::to_string(fault.lasts.count());
  return text;
}

// ---- from text ----

// The text before the first `mark`, which is taken off `rest` with it; all where there is none.
std::string_view take(std::string_view& rest, char mark) {
  const std::size_t end = rest.find(mark);
  const std::string_view taken = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return taken;
}

template <class T>
bool read_number(std::string_view text, T& into) {
  const auto value = parse_number<T>(text);
  into = value.value_or(into);
  return value && *value >= T{0};
}

template <class Rep, class Period>
bool read_duration(std::string_view text, std::chrono::duration<Rep, Period>& into) {
  std::uint32_t count = 0;
  if (!read_number(text, count)) return false;
  into = std::chrono::duration<Rep, Period>(count);
  return true;
}

template <class T>
bool read_name(std::string_view text, std::span<const T> from, T& into) {
  for (const T each : from) {
    if (name(each) != text) continue;
    into = each;
    return true;
  }
  return false;
}

bool read_ranks(std::string_view text, std::vector<int>& into) {
  while (!text.empty()) {
    int rank = 0;
    if (!read_number(take(text, '.'), rank)) return false;
    if (!into.empty() && rank <= into.back()) return false;
    into.push_back(rank);
  }
  return !into.empty();
}

bool read_call(std::string_view text, Call& call) {
  if (!read_name<OperationKind>(take(text, ','), kOperationKinds, call.kind)) return false;
  if (call.kind == OperationKind::kClose || !is_of_all(call.kind)) return false;
  if (moves_elements(call.kind)) {
    if (!read_number(take(text, ','), call.count) || call.count > kMostCount) return false;
    if (!read_name<DataType>(take(text, ','), kDataTypes, call.type)) return false;
  }
  if (reduces(call.kind) && !read_name<ReduceOp>(take(text, ','), kReduceOps, call.op))
    return false;
  if (has_root(call.kind) && !read_number(take(text, ','), call.root)) return false;
  while (!text.empty()) {
    const std::string_view flag = take(text, ',');
    if (flag != kAsynchronous && flag != kInPlace) return false;
    (flag == kInPlace ? call.in_place : call.asynchronous) = true;
  }
  return true;
}

bool read_deviation(std::string_view text, Deviation& deviation) {
  if (!read_ranks(take(text, '@'), deviation.ranks)) return false;
  if (!read_number(take(text, ':'), deviation.index)) return false;
  if (text == "skip" || text == "swap") {
    deviation.kind = text == "skip" ? Deviation::Kind::kSkip : Deviation::Kind::kSwap;
    return true;
  }
  deviation.kind = Deviation::Kind::kReplace;
  return take(text, '=') == "replace" && read_call(text, deviation.call);
}

bool read_fault(std::string_view text, Fault& fault) {
  if (!read_ranks(take(text, '@'), fault.ranks)) return false;
  if (!read_number(take(text, '+'), fault.step)) return false;
  const bool ends = fault.kind == Fault::Kind::kStop || fault.kind == Fault::Kind::kSlow;
  if (text.empty()) return !ends;
  return fault.kind != Fault::Kind::kLoss && read_duration(text, fault.lasts);
}

// Reads one more element of a list, that begins as `fresh`.
template <class T>
bool read_into(std::vector<T>& list, bool (*read)(std::string_view, T&), std::string_view text,
               const T& fresh) {
  list.push_back(fresh);
  return read(text, list.back());
}

bool read_world(std::string_view key, std::string_view value, Scenario& into) {
  if (key == "ranks") return read_number(value, into.ranks) && into.ranks > 0;
  if (key == "seed") return read_number(value, into.seed);
  if (key == "segment_bytes") return read_number(value, into.segment_bytes);
  if (key == "timeout_ms") return read_duration(value, into.timeout);
  if (key == "loss_us") return read_duration(value, into.loss_delay);
  if (key == "synchronous") return read_number(value, into.synchronous_percent);
  if (key == "algorithm") into.algorithm = value;
  if (key == "delay_us") {
    const std::size_t dots = value.find("..");
    return dots != std::string_view::npos && read_duration(value.substr(0, dots), into.min_delay) &&
           read_duration(value.substr(dots + 2), into.max_delay) &&
           into.min_delay <= into.max_delay;
  }
  return key == "algorithm";
}

bool read_word(std::string_view key, std::string_view value, Scenario& into) {
  if (key == "call") return read_into(into.calls, read_call, value, {});
  if (key == "deviate") return read_into(into.deviations, read_deviation, value, {});
  const auto* const fault = std::ranges::find(kFaults, key);
  if (fault != std::end(kFaults)) {
    const auto kind = static_cast<Fault::Kind>(fault - std::begin(kFaults));
    return read_into(into.faults, read_fault, value, {.kind = kind});
  }
  return read_world(key, value, into);
}

bool within(const std::vector<int>& ranks, int size) {
  return ranks.empty() || ranks.back() < size;
}

Status check(const Scenario& scenario) {
  bool good = scenario.ranks <= kMostRanks;
  const auto fits = [&](const Call& call) { return call.root < scenario.ranks; };
  for (const Call& call : scenario.calls) good = good && fits(call);
  for (const Deviation& each : scenario.deviations) {
    good = good && within(each.ranks, scenario.ranks) && fits(each.call);
  }
  for (const Fault& fault : scenario.faults) good = good && within(fault.ranks, scenario.ranks);
  if (good) return {};
  return Status(Code::kInvalidArgument, Scope::kNone,
                "a rank of the scenario is not below ranks=" + std::to_string(scenario.ranks) +
                    ", or that is above " + std::to_string(kMostRanks));
}

}  // namespace

std::string to_text(const Scenario& scenario) {
  const auto number = [](auto value) { return std::to_string(value); };
  std::string text = "ranks=" + number(scenario.ranks) + " seed=" + number(scenario.seed);
  if (!scenario.algorithm.empty()) text += " algorithm=" + scenario.algorithm;
  text += " segment_bytes=" + number(scenario.segment_bytes) +
          " timeout_ms=" + number(scenario.timeout.count()) +
          " delay_us=" + number(scenario.min_delay.count()) + ".." +
          number(scenario.max_delay.count()) + " loss_us=" + number(scenario.loss_delay.count()) +
          " synchronous=" + number(scenario.synchronous_percent);
  for (const Call& call : scenario.calls) text += " call=" + text_of(call);
  for (const Deviation& each : scenario.deviations) text += " deviate=" + text_of(each);
  for (const Fault& fault : scenario.faults) text += " " + text_of(fault);
  return text;
}

Result<Scenario> parse_scenario(std::string_view text) {
  Scenario scenario;
  while (!text.empty()) {
    const std::string_view word = take(text, ' ');
    std::string_view value = word;
    const std::string_view key = take(value, '=');
    if (word.empty() || read_word(key, value, scenario)) continue;
    return Status(Code::kInvalidArgument, Scope::kNone,
                  "a scenario has no such word: \"" + std::string(word) + "\"");
  }
  PACELINE_TRY(check(scenario));
  return scenario;
}

}  // namespace paceline::testing
