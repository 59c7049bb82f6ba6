#include "launcher/options/rank_set.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "comm/base/text.h"

namespace paceline::launcher {
namespace {

constexpr int kLast = std::numeric_limits<int>::max();

std::optional<int> number(std::string_view text) {
  const auto value = parse_number<int>(text);
  return value && *value >= 0 && *value < kLast ? value : std::nullopt;
}

}  // namespace

RankSet RankSet::all() {
  RankSet set;
  set.ranges_.push_back({0, kLast});
  return set;
}

Result<RankSet> RankSet::parse(std::string_view text) {
  if (text == "all") return all();
  RankSet set;
  if (text == "none") return set;
  for (bool more = true; more;) {
    const std::size_t comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    const std::size_t dash = word.find('-');
    const auto first = number(word.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : number(word.substr(dash + 1));
    if (!first || !last || *last < *first) {
      return Status(Code::kInvalidArgument, Scope::kOperation,
                    std::string("'").append(word) +
                        "' is neither a rank nor a range of ranks; write " +
                        "0,4-7, or all, or none");
    }
    set.ranges_.push_back({*first, *last});
    more = comma != std::string_view::npos;
    if (more) text.remove_prefix(comma + 1);
  }
  return set;
}

bool RankSet::contains(int rank) const {
  return std::any_of(ranges_.begin(), ranges_.end(), [rank](const Range& range) {
    return range.first <= rank && rank <= range.last;
  });
}

int RankSet::highest_named() const {
  int highest = -1;
  for (const Range& range : ranges_) {
    if (range.last != kLast) highest = std::max(highest, range.last);
  }
  return highest;
}

}  // namespace paceline::launcher
