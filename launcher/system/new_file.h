// A file that takes the place of another only whole, whoever reads or writes that meanwhile.
#pragma once

#include <memory>
#include <string>

#include <paceline/status.h>

#include "comm/base/unique_fd.h"

namespace paceline::launcher {

class NewFile final {
 public:
  /// Makes it beside `path`, so that nothing is computed that could not be kept. What is there and
  /// no ordinary file (a pipe, a device) is written itself, and so is the file of a descriptor
  /// (/dev/stdout). Of a symbolic link, the file behind it is replaced.
  static Result<std::unique_ptr<NewFile>> make(const std::string& path);
  /// What was not kept leaves nothing behind.
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  /// Once, with all that is to be in it.
  Status keep(const std::string& text);
  /// Instead of keep(), for a text that is written bit by bit: the empty file takes the place of
  /// the other now. Returns its descriptor.
  Result<UniqueFd> put_in_place();

 private:
  NewFile(const std::string& path, bool in_place);

  const std::string path_;
  const bool in_place_;
  const std::string written_;  // path_, or a name beside it
  UniqueFd fd_;                // closed: it is kept
};

}  // namespace paceline::launcher
