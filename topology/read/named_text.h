// What readers get: text, and the name that errors about it begin with.
#pragma once

#include <cstddef>
#include <string>

#include <paceline/status.h>

namespace paceline::topology {

struct NamedText {
  std::string name;  ///< for people: a file's path
  std::string text;
};

/// No description of a machine that is worth reading is longer.
inline constexpr std::size_t kMostFileBytes = std::size_t{16} << 20;

/// Reads a whole file. A file larger than `most_bytes` is refused. Errors name the file.
Result<NamedText> read_text_file(const std::string& path, std::size_t most_bytes = kMostFileBytes);

/// "NAME: reason", "NAME:12: reason" with a line that is not 0. kInvalidArgument.
Status unreadable(const std::string& name, std::size_t line, const std::string& reason);

}  // namespace paceline::topology
