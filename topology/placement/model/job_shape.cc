#include "topology/placement/model/job_shape.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "comm/base/text.h"
#include "comm/base/try.h"

namespace paceline::topology {
namespace {

struct KnownName {
  std::string_view name;
  Traffic traffic;
  double mb_a_step;
};

constexpr std::array kKnownNames = {
    KnownName{"tp", Traffic::kAllReduce, kTensorMb},
    KnownName{"cp", Traffic::kAllReduce, kContextMb},
    KnownName{"ep", Traffic::kAllToAll, kExpertMb},
    KnownName{"pp", Traffic::kNeighbours, kPipelineMb},
    KnownName{"dp", Traffic::kAllReduce, kGradientsMb},
};

Status wrong(const std::string& text, const std::string& reason) {
  return {Code::kInvalidArgument, Scope::kOperation,
          "shape \"" + printable(text) + "\": " + reason};
}

std::string quoted(std::string_view text) {
  return std::string("\"").append(printable(text)).append("\"");
}

Dimension dimension_of(std::string_view name) {
  const auto* const found = std::ranges::find(kKnownNames, name, &KnownName::name);
  Dimension dimension{.name = std::string(name), .mb_a_step = kGradientsMb};
  if (found == kKnownNames.end()) return dimension;
  dimension.traffic = found->traffic;
  dimension.mb_a_step = found->mb_a_step;
  return dimension;
}

// Of a name: they stand in tables and in JSON, and no option has to quote them.
bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= 32 && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

class Parser {
 public:
  Parser(const std::string& text, int ranks) : text_(text), ranks_(ranks) {}

  Result<std::vector<Dimension>> parse() {
    if (ranks_ < 1) return wrong(text_, "a job needs at least one rank");
    std::string_view rest = text_.empty() ? std::string_view("dp=") : std::string_view(text_);
    while (true) {
      const std::size_t comma = rest.find(',');
      PACELINE_TRY(add(rest.substr(0, comma)));
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
    PACELINE_TRY(fill_in());
    return std::move(dimensions_);
  }

 private:
  Status add(std::string_view item) {
    const std::size_t equals = item.find('=');
    const std::string_view name = item.substr(0, equals);
    if (equals == std::string_view::npos || !is_name(name))
      return wrong(text_, quoted(item) + " is not of the form name=size");
    if (std::ranges::find(dimensions_, name, &Dimension::name) != dimensions_.end())
      return wrong(text_, quoted(name) + " occurs twice");
    dimensions_.push_back(dimension_of(name));
    const std::string_view size = item.substr(equals + 1);
    if (size.empty()) return leave_out();
    const std::optional<int> number = parse_number<int>(size);
    if (!number || *number < 1)
      return wrong(text_, quoted(size) + " is not a valid size for " + quoted(name));
    dimensions_.back().size = *number;
    // What is beyond the ranks need not be known exactly.
    product_ = std::min(product_ * *number, kBeyond);
    return {};
  }

  Status leave_out() {
    if (left_out_) return wrong(text_, "only one size may be left out");
    left_out_ = dimensions_.size() - 1;
    return {};
  }

  Status fill_in() {
    const std::string has = "the job has " + std::to_string(ranks_) + " ranks";
    if (!left_out_ && product_ != ranks_)
      return wrong(text_, "the product is " + product_text() + " ranks, but " + has);
    if (left_out_ && ranks_ % product_ != 0)
      return wrong(text_, has + ", which is not a multiple of " + product_text());
    if (left_out_) dimensions_[*left_out_].size = static_cast<int>(ranks_ / product_);
    return {};
  }

  std::string product_text() const {
    return product_ == kBeyond ? "too many" : std::to_string(product_);
  }

  static constexpr std::int64_t kBeyond = std::int64_t{1} << 31;

  const std::string& text_;
  const std::int64_t ranks_;
  std::vector<Dimension> dimensions_;
  std::optional<std::size_t> left_out_;
  std::int64_t product_ = 1;
};

}  // namespace

std::size_t carried_by_servers(const JobShape& job) {
  const auto found = std::ranges::find(job.dimensions.rbegin(), job.dimensions.rend(),
                                       Traffic::kAllReduce, &Dimension::traffic);
  if (found == job.dimensions.rend()) return job.dimensions.size() - 1;
  return static_cast<std::size_t>(job.dimensions.rend() - found) - 1;
}

Result<std::vector<Dimension>> parse_dimensions(const std::string& text, int ranks) {
  return Parser(text, ranks).parse();
}

}  // namespace paceline::topology
