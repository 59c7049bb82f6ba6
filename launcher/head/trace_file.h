// The file of `paceline run --trace`: it takes whole events while the job runs.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <paceline/status.h>

#include "comm/base/unique_fd.h"

namespace paceline::launcher {

class TraceFile final {
 public:
  /// Makes an empty file in the place of one of that name. A pipe is refused: its reader could stop
  /// the job. Errors name the file.
  static Result<std::unique_ptr<TraceFile>> make(const std::string& path);

  /// Events that cannot be written whole leave nothing in the file. Calls after an error have no
  /// effect.
  Status append(const std::string& events);

 private:
  TraceFile(std::string path, UniqueFd fd);

  const std::string path_;
  UniqueFd fd_;        // closed: it has had an error
  std::size_t bytes_;  // of the file
};

}  // namespace paceline::launcher
