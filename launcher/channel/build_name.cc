#include "launcher/channel/build_name.h"

namespace paceline::launcher {

std::string_view build_name() { return PACELINE_VERSION " (messages " PACELINE_MESSAGES ")"; }

}  // namespace paceline::launcher
