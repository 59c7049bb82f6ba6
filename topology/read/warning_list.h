// The warnings of a reader. Their number is bounded, because an untrusted file may cause a million.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "topology/model/host_model.h"

namespace paceline::topology {

/// A value that readers fill: warnings.say("GPU0 has links to itself: ignored").
class WarningList {
 public:
  static constexpr std::size_t kMost = 64;

  void say(std::string text) {
    if (texts_.size() < kMost) texts_.push_back(std::move(text));
    ++said_;
  }

  void add_to(HostModel& host, SourceIndex source) const {
    for (const std::string& text : texts_) host.warnings.push_back({text, source});
    if (said_ > kMost)
      host.warnings.push_back({"and " + std::to_string(said_ - kMost) + " more warnings", source});
  }

 private:
  std::vector<std::string> texts_;
  std::size_t said_ = 0;
};

}  // namespace paceline::topology
