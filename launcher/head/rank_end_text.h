// Texts of the head's messages about how a rank ended. Pure.
#pragma once

#include <string>

#include "launcher/channel/messages.pb.h"

namespace paceline::launcher {

/// "exited with code 3; peak memory 20 MiB; its last operation: barrier #3, running for 2.1 s"
std::string in_words(const messages::RankExited& exited);

/// "; its last operation: …", or an empty text if there is no operation.
std::string in_last_operation(const std::string& operation);

}  // namespace paceline::launcher
