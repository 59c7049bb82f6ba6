#include "comm/base/host_range.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "comm/base/text.h"
#include "comm/base/try.h"

namespace paceline {
namespace {

Status not_hosts(std::string_view text) {
  return Status(Code::kInvalidArgument, Scope::kOperation,
                std::string("'").append(printable(text.substr(0, 64))) +
                    "' is not a list of hosts like node[01-16,20]");
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
  if (!low || !high || *high < *low || *high - *low >= kMostHosts) return not_hosts(range);
  if (first.size() > kMostHostNameBytes) return not_hosts(range);
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
    if (numbers.size() > kMostHosts) return not_hosts(text);
    begin = end + 1;
  }
  return numbers;
}

// "rack[1-2]node[1-4]": each of the first with each of the second, and so on.
Result<std::vector<std::string>> expand_part(std::string_view part) {
  const bool is_range = part.find('[') != std::string_view::npos;
  std::vector<std::string> names{""};
  while (!part.empty()) {
    const std::size_t open = std::min(part.find('['), part.size());
    const std::size_t close = part.find(']');
    if (part.substr(0, open).find(']') != std::string_view::npos) return not_hosts(part);
    std::vector<std::string> endings{""};
    if (open < part.size()) {
      if (close == std::string_view::npos) return not_hosts(part);
      PACELINE_TRY_ASSIGN(endings, expand_ranges(part.substr(open + 1, close - open - 1)));
    }
    if (names.size() * endings.size() > kMostHosts) return not_hosts(part);
    std::vector<std::string> longer;
    for (const std::string& name : names) {
      for (const std::string& ending : endings) {
        if (is_range && name.size() + open + ending.size() > kMostHostNameBytes)
          return not_hosts(part);
        longer.push_back(std::string(name).append(part.substr(0, open)).append(ending));
      }
    }
    names = std::move(longer);
    part.remove_prefix(open < part.size() ? close + 1 : open);
  }
  return names;
}

// "node07-ib" as what is before its last number, the number, and what is behind it.
struct NumberedName {
  std::string_view before, digits, behind;

  bool is_numbered() const { return !digits.empty() && digits.size() <= kMostDigits; }

 private:
  static constexpr std::size_t kMostDigits = 9;
};

NumberedName numbered(std::string_view name) {
  constexpr std::string_view kDigits = "0123456789";
  const std::size_t end = name.find_last_of(kDigits) + 1;  // 0: there is none
  const std::size_t begin = name.find_last_not_of(kDigits, end == 0 ? 0 : end - 1) + 1;
  if (end == 0) return {.before = name};
  return {name.substr(0, begin), name.substr(begin, end - begin), name.substr(end)};
}

// How many names from the first of these on count up.
std::size_t count_up(std::span<const std::string> names) {
  const NumberedName first = numbered(names.front());
  if (!first.is_numbered()) return 1;
  const unsigned long low = parse_number<unsigned long>(first.digits).value_or(0);
  std::size_t count = 1;
  for (; count < names.size(); ++count) {
    const NumberedName next = numbered(names[count]);
    if (next.before != first.before || next.behind != first.behind ||
        next.digits != padded(low + count, first.digits.size()))
      break;
  }
  return count;
}

}  // namespace

std::size_t end_of_host(std::string_view text, std::size_t begin) {
  int depth = 0;
  for (std::size_t i = begin; i < text.size(); ++i) {
    depth += text[i] == '[' ? 1 : text[i] == ']' ? -1 : 0;
    if (text[i] == ',' && depth == 0) return i;
  }
  return text.size();
}

Result<std::vector<std::string>> expand_hosts(std::string_view text) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = end_of_host(text, begin);
    if (end == begin) return not_hosts(text);
    PACELINE_TRY_ASSIGN(const auto more, expand_part(text.substr(begin, end - begin)));
    names.insert(names.end(), more.begin(), more.end());
    if (names.size() > kMostHosts) return not_hosts(text);
    begin = end + 1;
  }
  return names;
}

std::vector<std::string> host_ranges(std::span<const std::string> names) {
  std::vector<std::string> pieces;
  while (!names.empty()) {
    const std::size_t count = count_up(names);
    std::string piece = names.front();
    if (count > 1) {
      const NumberedName first = numbered(names.front()), last = numbered(names[count - 1]);
      piece = std::string(first.before).append("[").append(first.digits).append("-");
      piece.append(last.digits).append("]").append(first.behind);
    }
    pieces.push_back(std::move(piece));
    names = names.subspan(count);
  }
  return pieces;
}

}  // namespace paceline
