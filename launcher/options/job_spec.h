// What the user asked `paceline run` for.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace paceline::launcher {

/// -x NAME=value, or -x NAME: the value that the head's own environment has.
struct EnvironmentSetting {
  std::string name;
  std::optional<std::string> value;

  bool operator==(const EnvironmentSetting&) const = default;
};

struct JobSpec {
  int ranks = 1;
  std::vector<std::string> command;  ///< the program, then its arguments; never empty
  std::vector<EnvironmentSetting> environment;
  std::string working_directory;        ///< empty: the one of the head
  std::optional<bool> tag_output;       ///< unset: when there are several ranks
  std::chrono::nanoseconds timeout{0};  ///< 0: none
  std::chrono::nanoseconds grace{std::chrono::seconds(10)};  ///< from SIGTERM to SIGKILL

  bool tags() const { return tag_output.value_or(ranks > 1); }
  /// One rank without tags writes what it likes, byte for byte.
  bool splits_lines() const { return ranks > 1 || tags(); }

  bool operator==(const JobSpec&) const = default;
};

}  // namespace paceline::launcher
