// A folder for files of one measurement.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include <paceline/status.h>

#include "launcher/system/system.h"

namespace paceline::launcher {

/// $TMPDIR, or /tmp.
inline std::string temporary_folder() {
  std::error_code none;
  const std::string folder = std::filesystem::temp_directory_path(none).string();
  return none ? "/tmp" : folder;
}

/// A private folder. It is removed, with all files in it, when this is destroyed.
class ScratchFolder {
 public:
  /// `pattern` ends in XXXXXX, as mkdtemp(3) takes it.
  static Result<ScratchFolder> make(std::string pattern) {
    if (::mkdtemp(pattern.data()) == nullptr) return system_error("make a folder like " + pattern);
    return ScratchFolder(std::move(pattern));
  }
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }

  const std::string& path() const { return path_; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace paceline::launcher
