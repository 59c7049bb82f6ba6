#include "launcher/tools/lab/system_program.h"

#include <cstdlib>

#include "launcher/system/program_file.h"

namespace paceline::launcher {

Result<std::string> find_system_program(const std::string& name, const std::string& package) {
  const char* const path = ::getenv("PATH");
  const std::string folders =
      std::string(path == nullptr ? "" : path) + ":/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin";
  const ProgramFile file = find_program(name, folders, "/");
  if (file.error == 0 && file.path.starts_with('/')) return file.path;
  return Status(Code::kUnavailable, Scope::kProcess,
                "the program '" + name + "' is not installed (Debian package: " + package + ")");
}

}  // namespace paceline::launcher
