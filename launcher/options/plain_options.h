// Options of a command that starts no program: flags, and options with a value. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <paceline/status.h>

namespace paceline::launcher {

struct PlainOption {
  std::string_view name;  ///< with its dashes
  bool takes_value = false;
};

struct PlainCommand {
  std::string_view name;  ///< behind `paceline`
  std::span<const PlainOption> options;
  std::string_view hint;  ///< for who writes a word that is no option: where such words stand
};

struct GivenOption {
  std::string name;
  std::string value;  ///< not empty where the option takes one
};

/// In the order in which they stand; a value is the next word, or stands behind "=". An error names
/// the word that is wrong and what was likely meant.
Result<std::vector<GivenOption>> given_options(const PlainCommand& command,
                                               std::span<const std::string> arguments);

}  // namespace paceline::launcher
