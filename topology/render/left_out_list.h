// Collects what a form leaves out.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "topology/render/render.h"

namespace paceline::topology {

class LeftOutList {
 public:
  /// `form` as a sentence names it: "hwloc's XML".
  explicit LeftOutList(std::string form) : form_(std::move(form)) {}

  /// In a sentence of its own.
  void say(const std::string& field, std::string sentence);
  /// One sentence has all of them: "4 NIC states", for a `what` of "NIC state". Not if there are 0.
  void count(const std::string& field, std::size_t number, const std::string& what);
  /// The same of those in `all` for which `is_lost` is true.
  template <class List, class Predicate>
  void count_if(const std::string& field, const std::string& what, const List& all,
                Predicate is_lost) {
    count(field, static_cast<std::size_t>(std::ranges::count_if(all, is_lost)), what);
  }
  void add_if(bool is_left_out, const std::string& field, const std::string& what);

  LeftOut take();

 private:
  std::string form_;
  LeftOut left_;
  std::vector<std::string> without_words_;
};

}  // namespace paceline::topology
