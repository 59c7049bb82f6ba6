// Files that users name: read whole, with bounds.
#pragma once

#include <cstddef>
#include <string>

#include <paceline/status.h>

namespace paceline {

/// The contents of a regular file or a pipe (`--hostfile <(…)`). Code::kInvalidArgument, without
/// the path in the text: it cannot be read, is a folder or a device, is longer than `most_bytes`,
/// or is a pipe on which nothing arrives for 10 s, or not all within 60 s.
Result<std::string> read_input(const std::string& path, std::size_t most_bytes);

}  // namespace paceline
