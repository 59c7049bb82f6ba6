#include "launcher/system/program_file.h"

#include <cerrno>
#include <cstddef>
#include <cstring>

#include <sys/stat.h>
#include <unistd.h>

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

std::string explain(const std::string& path, int error) {
  if (error == EACCES)
    return "'" + path + "' is not an executable file; try chmod +x, or run it with its interpreter";
  return "there is no program '" + path + "'";
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
    return {.path = name, .error = error, .text = error == 0 ? "" : explain(name, error)};
  }
  std::string refused;
  for (std::size_t begin = 0; begin <= search_path.size();) {
    const std::size_t end = std::min(search_path.find(':', begin), search_path.size());
    const std::string_view folder = search_path.substr(begin, end - begin);
    const std::string path = (folder.empty() ? "." : std::string(folder)) + "/" + name;
    const int error = why_not_executable(seen_from(directory, path));
    if (error == 0) return {.path = path, .error = 0, .text = ""};
    if (error == EACCES && refused.empty()) refused = path;
    begin = end + 1;
  }
  if (!refused.empty()) return {.path = refused, .error = EACCES, .text = explain(refused, EACCES)};
  std::string text = "there is no program '" + name + "' in PATH";
  if (why_not_executable(seen_from(directory, name)) == 0)
    text += "; to run the one in the working directory, write ./" + name;
  return {.path = name, .error = ENOENT, .text = text};
}

}  // namespace paceline::launcher
