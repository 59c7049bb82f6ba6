// A set of ranks as people write it: "0,4-7", "all", "none". Pure.
#pragma once

#include <string_view>
#include <vector>

#include <paceline/status.h>

namespace paceline::launcher {

class RankSet {
 public:
  static RankSet all();
  static RankSet none() { return {}; }
  /// "all", "none", or ranks and ranges set apart by commas. An error says which word is wrong.
  static Result<RankSet> parse(std::string_view text);

  bool contains(int rank) const;
  /// The highest rank that was written; -1 for all and none.
  int highest_named() const;

  bool operator==(const RankSet&) const = default;

 private:
  struct Range {
    int first;
    int last;  // included
    bool operator==(const Range&) const = default;
  };
  std::vector<Range> ranges_;
};

}  // namespace paceline::launcher
