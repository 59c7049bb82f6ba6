#include "launcher/web/web_module.h"

#include "comm/base/try.h"
#include "launcher/system/program_module.h"

namespace paceline::launcher {

Result<const WebModule*> load_web_module() {
#ifdef PACELINE_HAS_WEB
  PACELINE_TRY_ASSIGN(
      const void* module,
      load_module({.file = PACELINE_WEB_MODULE, .symbol = kWebSymbol, .user = "pages of a job"}));
  return static_cast<const WebModule*>(module);
#else
  return Status(Code::kUnavailable, Scope::kProcess,
                "this paceline was built without Boost or prometheus-cpp");
#endif
}

}  // namespace paceline::launcher
