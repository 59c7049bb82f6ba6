#include "launcher/system/program_file.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "comm/base/text.h"

namespace paceline::launcher {
namespace {

int why_not_executable(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return errno == ENOTDIR ? ENOENT : errno;
  if (!S_ISREG(status.st_mode) || ::access(path.c_str(), X_OK) != 0) return EACCES;
  return 0;
}

int why_not_enterable(const std::string& directory) {
  struct stat status {};
  if (directory.empty()) return 0;
  if (::stat(directory.c_str(), &status) != 0) return errno;
  if (!S_ISDIR(status.st_mode)) return ENOTDIR;
  return ::access(directory.c_str(), X_OK) == 0 ? 0 : errno;
}

std::string seen_from(const std::string& directory, const std::string& path) {
  return directory.empty() || path.starts_with('/') ? path : directory + "/" + path;
}

// The kernel executes nothing on such a file system, whatever the permissions are.
bool is_mounted_noexec(const std::string& path) {
  struct stat status {};
  struct statvfs mounted {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         (status.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)) != 0 &&
         ::statvfs(path.c_str(), &mounted) == 0 && (mounted.f_flag & ST_NOEXEC) != 0;
}

std::string explain(const std::string& path, int error, const std::string& directory) {
  if (error != EACCES) return "there is no program '" + path + "'";
  if (is_mounted_noexec(seen_from(directory, path)))
    return "'" + path +
           "' is on a file system that is mounted noexec; copy it elsewhere, or run it with its "
           "interpreter";
  return "'" + path + "' is not an executable file; try chmod +x, or run it with its interpreter";
}

// As much as the kernel reads of a script.
std::string beginning_of(const std::string& path) {
  constexpr std::size_t kMost = 256;
  std::string begin(kMost, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  begin.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return begin;
}

// The interpreter that the first line names, execve(2); empty: there is no such line.
std::string interpreter_in(const std::string& begin) {
  if (!begin.starts_with("#!")) return "";
  const std::string line = begin.substr(2, begin.find('\n') - 2);
  const std::size_t first = line.find_first_not_of(" \t");
  if (first == std::string::npos) return "";
  return line.substr(first, line.find_first_of(" \t", first) - first);
}

// Of a file that may be executed: its form, and whether its interpreter is there.
ProgramFile read_program(const std::string& path, const std::string& directory) {
  const std::string begin = beginning_of(seen_from(directory, path));
  const std::string interpreter = interpreter_in(begin);
  struct stat status {};
  if (!interpreter.empty() && ::stat(seen_from(directory, interpreter).c_str(), &status) != 0) {
    const bool has_return = interpreter.ends_with('\r');
    return {.path = path,
            .error = ENOENT,
            .text = "'" + path + "' needs the interpreter '" + printable(interpreter) +
                    "', which does not exist" +
                    (has_return ? "; its first line ends in a carriage return (convert the file "
                                  "with dos2unix)"
                                : "")};
  }
  // As shells decide it: no zero byte in the first line.
  const std::string_view first_line = std::string_view(begin).substr(0, begin.find('\n'));
  return {.path = path,
          .error = 0,
          .text = "",
          .is_shell_script = !begin.starts_with("#!") &&
                             !begin.starts_with("\x7f"
                                                "ELF") &&
                             first_line.find('\0') == std::string_view::npos};
}

}  // namespace

ProgramFile find_program(const std::string& name, std::string_view search_path,
                         const std::string& directory) {
  if (const int error = why_not_enterable(directory); error != 0) {
    return {
        .path = name,
        .error = error,
        .text = "cannot enter the working directory '" + directory + "': " + std::strerror(error)};
  }
  if (name.find('/') != std::string::npos) {
    const int error = why_not_executable(seen_from(directory, name));
    if (error == 0) return read_program(name, directory);
    return {.path = name, .error = error, .text = explain(name, error, directory)};
  }
  std::string refused;
  for (std::size_t begin = 0; begin <= search_path.size();) {
    const std::size_t end = std::min(search_path.find(':', begin), search_path.size());
    const std::string_view folder = search_path.substr(begin, end - begin);
    const std::string path = (folder.empty() ? "." : std::string(folder)) + "/" + name;
    const int error = why_not_executable(seen_from(directory, path));
    if (error == 0) return read_program(path, directory);
    if (error == EACCES && refused.empty()) refused = path;
    begin = end + 1;
  }
  if (!refused.empty())
    return {.path = refused, .error = EACCES, .text = explain(refused, EACCES, directory)};
  std::string text = "there is no program '" + name + "' in PATH";
  if (why_not_executable(seen_from(directory, name)) == 0)
    text += "; to run the one in the working directory, write ./" + name;
  return {.path = name, .error = ENOENT, .text = text};
}

}  // namespace paceline::launcher
