#include "launcher/system/program_module.h"

#include <dlfcn.h>
#include <unistd.h>

namespace paceline::launcher {
namespace {

std::string folder_of_program() {
  char path[4096];
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
  const std::string whole(path, length > 0 ? static_cast<std::size_t>(length) : 0);
  return whole.substr(0, whole.rfind('/'));
}

}  // namespace

Result<const void*> load_module(const ProgramModule& module) {
  // Its place in an installation, and in a build, from its programs and from its acceptance.
  std::string tried;
  for (const char* folder : {PACELINE_LIBRARY_FOLDER, "lib", "../lib"}) {
    const std::string path = folder_of_program() + "/../" + folder + "/" + module.file;
    void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      tried += (tried.empty() ? "" : "; ") + std::string(::dlerror());
      continue;
    }
    if (const void* symbol = ::dlsym(library, module.symbol)) return symbol;
    tried += (tried.empty() ? "" : "; ") + path + " is not a module of Paceline";
  }
  return Status(Code::kUnavailable, Scope::kProcess,
                std::string(module.user) + " need the module " + module.file +
                    ", which cannot be loaded: " + tried);
}

}  // namespace paceline::launcher
