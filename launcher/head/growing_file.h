// A file of `paceline run` that grows while the job runs, as that of --trace: it takes whole
// pieces.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include <paceline/status.h>

#include "comm/base/unique_fd.h"

namespace paceline::launcher {

class GrowingFile final {
 public:
  /// Makes an empty file in the place of one of that name, for `what`: "a trace". A pipe is
  /// refused: its reader could stop the job. Errors name the file.
  static Result<std::unique_ptr<GrowingFile>> make(const std::string& path, std::string_view what);

  /// A piece that cannot be written whole leaves nothing in the file. Calls after an error have no
  /// effect.
  Status append(const std::string& piece);

 private:
  GrowingFile(std::string path, UniqueFd fd);

  const std::string path_;
  UniqueFd fd_;        // closed: it has had an error
  std::size_t bytes_;  // of the file
};

}  // namespace paceline::launcher
