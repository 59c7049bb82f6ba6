// Which file a program's name means, and why it cannot be executed if it cannot.
#pragma once

#include <string>
#include <string_view>

namespace paceline::launcher {

struct ProgramFile {
  std::string path;  ///< as execve takes it from within the working directory
  int error = 0;     ///< ENOENT (also for its interpreter) or EACCES, else 0
  std::string text;  ///< why, with a hint
  /// A text file without a line "#!": shells execute such a file by /bin/sh.
  bool is_shell_script = false;
};

/// As execvp looks it up: a name with a slash is a path, another is sought in the folders of
/// `search_path`, "a:b:c". Relative paths start at `directory`; empty: the current one.
ProgramFile find_program(const std::string& name, std::string_view search_path,
                         const std::string& directory);

}  // namespace paceline::launcher
