// Finds the module of remote agents.
#include "comm/base/try.h"
#include "launcher/channel/grpc_loader.h"
#include "launcher/channel/remote_call.h"

namespace paceline::launcher {

Result<const RemoteModule*> load_remote_module() {
  PACELINE_TRY_ASSIGN(const void* module, load_grpc_module({.file = PACELINE_REMOTE_MODULE,
                                                            .symbol = kModuleSymbol,
                                                            .user = "remote agents"}));
  return static_cast<const RemoteModule*>(module);
}

}  // namespace paceline::launcher
