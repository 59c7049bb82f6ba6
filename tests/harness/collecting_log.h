// A log that keeps its lines, so that a test can say what must stand there.
#pragma once

#include <algorithm>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "telemetry/log.h"

namespace paceline::testing {

class CollectingLog final : public Log {
 public:
  struct Line {
    Severity severity{};
    std::string text;
  };

  void write(Severity severity, std::string_view text) override {
    const std::lock_guard lock(mutex_);
    lines_.push_back({severity, std::string(text)});
  }

  std::vector<Line> lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }
  /// How many lines hold `part`.
  std::size_t count(std::string_view part) const {
    const std::vector<Line> all = lines();
    return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [part](const Line& line) {
      return line.text.find(part) != std::string::npos;
    }));
  }

 private:
  mutable std::mutex mutex_;  // guards lines_
  std::vector<Line> lines_;
};

}  // namespace paceline::testing
