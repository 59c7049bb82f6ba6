#include "launcher/system/program_module.h"

#include <dlfcn.h>

#include "comm/base/try.h"
#include "launcher/system/system.h"

namespace paceline::launcher {
Result<const void*> load_module(const ProgramModule& module) {
  // Its place in an installation, and in a build, from its programs and from its acceptance.
  PACELINE_TRY_ASSIGN(const std::string programs, folder_of_programs());
  std::string tried;
  for (const char* folder : {PACELINE_LIBRARY_FOLDER, "lib", "../lib"}) {
    const std::string path = programs + "/../" + folder + "/" + module.file;
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
