#include "launcher/stacks/native_stacks.h"

#include "comm/base/try.h"
#include "launcher/system/program_module.h"

namespace paceline::launcher {

Result<const StacksModule*> load_stacks_module() {
#ifdef PACELINE_HAS_STACKS
  PACELINE_TRY_ASSIGN(const void* module, load_module({.file = PACELINE_STACKS_MODULE,
                                                       .symbol = kStacksSymbol,
                                                       .user = "native stacks"}));
  return static_cast<const StacksModule*>(module);
#else
  return Status(Code::kUnavailable, Scope::kProcess,
                "native stacks are off: this paceline was built without libdw (Debian: libdw-dev)");
#endif
}

}  // namespace paceline::launcher
