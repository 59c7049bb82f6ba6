#include "launcher/control/control_module.h"

#include "comm/base/try.h"
#include "launcher/channel/grpc_loader.h"

namespace paceline::launcher {

std::string control_is_off() {
#ifdef PACELINE_HAS_CONTROL
  return "";
#else
  return "this paceline was built without gRPC";
#endif
}

Result<const ControlModule*> load_control_module() {
  PACELINE_TRY_ASSIGN(const void* module, load_grpc_module({.file = PACELINE_CONTROL_MODULE,
                                                            .symbol = kControlSymbol,
                                                            .user = "clients of a job"}));
  return static_cast<const ControlModule*>(module);
}

}  // namespace paceline::launcher
