#include "collectives/backend/shm/tuning.h"

#include <algorithm>
#include <sstream>

#include "comm/base/text.h"

namespace paceline::shm {
namespace {

constexpr std::string_view kTitle = "paceline-tuning 1";
constexpr std::string_view kMachine = "machine";
constexpr std::string_view kLimitWords[] = {"ordinary", "buffers", "staged"};  // as in Limit
constexpr std::size_t kMostSizes = 4096;
constexpr std::size_t kMostBytes = std::size_t{1} << 30;
constexpr int kMostRanks = 4096;

Status wrong(const std::string& line) {
  return Status(Code::kInvalidArgument, Scope::kProcess, "unknown line '" + printable(line) + "'");
}

std::optional<OperationKind> kind_of(std::string_view word) {
  const auto* const found = std::find_if(std::begin(kOperationKinds), std::end(kOperationKinds),
                                         [word](OperationKind kind) { return name(kind) == word; });
  return found != std::end(kOperationKinds) ? std::optional(*found) : std::nullopt;
}

std::optional<Limit> limit_of(std::string_view word) {
  const auto* const found = std::find(std::begin(kLimitWords), std::end(kLimitWords), word);
  if (found == std::end(kLimitWords)) return std::nullopt;
  return static_cast<Limit>(found - std::begin(kLimitWords));
}

std::optional<TunedSize> parse_size(const std::string& line) {
  std::istringstream words(line);
  std::string kind, ranks, place, bytes, more;
  if (!(words >> kind >> ranks >> place >> bytes) || words >> more) return std::nullopt;
  const auto known = kind_of(kind);
  const auto limit = limit_of(place);
  const auto count = parse_number<int>(ranks);
  const auto most = parse_number<std::size_t>(bytes);
  if (!known || !count || !most || !limit) return std::nullopt;
  if (*count < 2 || *count > kMostRanks || *most > kMostBytes) return std::nullopt;
  return TunedSize{.kind = *known, .ranks = *count, .limit = *limit, .most_bytes = *most};
}

}  // namespace

std::string to_text(const Tuning& tuning) {
  std::ostringstream text;
  text << kTitle << '\n' << kMachine << ' ' << tuning.machine << '\n';
  for (const TunedSize& size : tuning.sizes) {
    text << name(size.kind) << ' ' << size.ranks << ' '
         << kLimitWords[static_cast<std::size_t>(size.limit)] << ' ' << size.most_bytes << '\n';
  }
  return text.str();
}

Result<Tuning> parse_tuning(std::string_view text) {
  std::istringstream lines{std::string(text)};
  std::string line;
  if (!std::getline(lines, line) || line != kTitle) return wrong(line);
  Tuning tuning;
  while (std::getline(lines, line)) {
    if (line.empty() || line.front() == '#') continue;
    if (tuning.machine.empty()) {
      if (!line.starts_with(kMachine) || line.size() <= kMachine.size() + 1) return wrong(line);
      tuning.machine = line.substr(kMachine.size() + 1);
      continue;
    }
    const auto size = parse_size(line);
    if (!size || tuning.sizes.size() == kMostSizes) return wrong(line);
    tuning.sizes.push_back(*size);
  }
  return tuning;
}

Tuning part_for(const Tuning& tuning, int ranks) {
  Tuning part{.machine = tuning.machine, .sizes = {}};
  std::copy_if(tuning.sizes.begin(), tuning.sizes.end(), std::back_inserter(part.sizes),
               [ranks](const TunedSize& size) { return size.ranks == ranks; });
  return part;
}

MeasuredSizes sizes_for(const Tuning& tuning, int ranks) {
  MeasuredSizes sizes;
  for (const TunedSize& size : tuning.sizes)
    if (size.ranks == ranks)
      sizes[static_cast<std::size_t>(size.kind)][static_cast<std::size_t>(size.limit)] =
          size.most_bytes;
  return sizes;
}

}  // namespace paceline::shm
