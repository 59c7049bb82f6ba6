#include "launcher/engines/slurm_nodes.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "comm/base/text.h"
#include "comm/base/try.h"

namespace paceline::launcher {
namespace {

constexpr std::size_t kMostNodes = kMaxRanks;

Status wrong(std::string_view what, std::string_view text) {
  return Status(Code::kInvalidArgument, Scope::kOperation,
                std::string("'").append(printable(text.substr(0, 64))) + "' is not " +
                    std::string(what) + " as Slurm writes it");
}

Status not_nodes(std::string_view text) { return wrong("a list of nodes", text); }

// The end of what begins at `begin`: the next comma outside of brackets, or all.
std::size_t end_of_part(std::string_view text, std::size_t begin) {
  int depth = 0;
  for (std::size_t i = begin; i < text.size(); ++i) {
    depth += text[i] == '[' ? 1 : text[i] == ']' ? -1 : 0;
    if (text[i] == ',' && depth == 0) return i;
  }
  return text.size();
}

std::string padded(unsigned long number, std::size_t digits) {
  const std::string text = std::to_string(number);
  return std::string(digits > text.size() ? digits - text.size() : 0, '0').append(text);
}

// "01-04": the width of the first number is that of all.
Status expand_range(std::string_view range, std::vector<std::string>& into) {
  const std::size_t dash = range.find('-');
  const std::string_view first = range.substr(0, dash);
  const auto low = parse_number<unsigned long>(first);
  const auto high =
      dash == std::string_view::npos ? low : parse_number<unsigned long>(range.substr(dash + 1));
  if (!low || !high || *high < *low || *high - *low >= kMostNodes) return not_nodes(range);
  for (unsigned long number = *low; number <= *high; ++number)
    into.push_back(padded(number, first.size()));
  return Status();
}

// What stands between brackets.
Result<std::vector<std::string>> expand_ranges(std::string_view text) {
  std::vector<std::string> numbers;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    PACELINE_TRY(expand_range(text.substr(begin, end - begin), numbers));
    if (numbers.size() > kMostNodes) return not_nodes(text);
    begin = end + 1;
  }
  return numbers;
}

// "rack[1-2]node[1-4]": each of the first with each of the second, and so on.
Result<std::vector<std::string>> expand_part(std::string_view part) {
  std::vector<std::string> names{""};
  while (!part.empty()) {
    const std::size_t open = std::min(part.find('['), part.size());
    const std::size_t close = part.find(']');
    if (part.substr(0, open).find(']') != std::string_view::npos) return not_nodes(part);
    std::vector<std::string> endings{""};
    if (open < part.size()) {
      if (close == std::string_view::npos) return not_nodes(part);
      PACELINE_TRY_ASSIGN(endings, expand_ranges(part.substr(open + 1, close - open - 1)));
    }
    if (names.size() * endings.size() > kMostNodes) return not_nodes(part);
    std::vector<std::string> longer;
    for (const std::string& name : names) {
      for (const std::string& ending : endings)
        longer.push_back(std::string(name).append(part.substr(0, open)).append(ending));
    }
    names = std::move(longer);
    part.remove_prefix(open < part.size() ? close + 1 : open);
  }
  return names;
}

}  // namespace

Result<std::vector<std::string>> expand_node_list(std::string_view text) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = end_of_part(text, begin);
    if (end == begin) return not_nodes(text);
    PACELINE_TRY_ASSIGN(const auto more, expand_part(text.substr(begin, end - begin)));
    names.insert(names.end(), more.begin(), more.end());
    if (names.size() > kMostNodes) return not_nodes(text);
    begin = end + 1;
  }
  return names;
}

Result<std::vector<int>> expand_counts(std::string_view text) {
  std::vector<int> counts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    const std::size_t open = std::min(part.find("(x"), part.size());
    std::optional<std::size_t> times = 1;
    if (open < part.size()) {
      if (!part.ends_with(')')) return wrong("a list of counts", text);
      times = parse_number<std::size_t>(part.substr(open + 2, part.size() - open - 3));
    }
    const auto count = parse_number<int>(part.substr(0, open));
    if (!count || *count < 1 || !times || *times > kMostNodes - counts.size())
      return wrong("a list of counts", text);
    counts.insert(counts.end(), *times, *count);
    begin = end + 1;
  }
  return counts;
}

Result<std::vector<HostSlots>> slurm_hosts(const char* (*lookup)(const char*)) {
  const char* const nodes = lookup("SLURM_JOB_NODELIST");
  if (nodes == nullptr)
    return Status(Code::kUnavailable, Scope::kOperation,
                  "this is not inside of a Slurm allocation; use salloc or sbatch");
  PACELINE_TRY_ASSIGN(std::vector<std::string> names, expand_node_list(nodes));
  const char* counts = lookup("SLURM_NTASKS") == nullptr ? nullptr : lookup("SLURM_TASKS_PER_NODE");
  if (counts == nullptr) counts = lookup("SLURM_JOB_CPUS_PER_NODE");
  std::vector<int> slots;
  if (counts != nullptr) {
    PACELINE_TRY_ASSIGN(slots, expand_counts(counts));
  }
  std::vector<HostSlots> hosts;
  for (std::size_t i = 0; i < names.size(); ++i)
    hosts.push_back(
        {.name = names[i], .slots = i < slots.size() ? std::optional(slots[i]) : std::nullopt});
  return hosts;
}

}  // namespace paceline::launcher
