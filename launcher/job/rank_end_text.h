// Texts of the head's messages about how a rank ended. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "launcher/channel/messages.pb.h"

namespace paceline::launcher {

/// "exited with code 3; peak memory 20 MiB; its last operation: barrier #3, running for 2.1 s"
std::string in_words(const messages::RankExited& exited);

/// Ranks in ascending order: "rank 3", "ranks 4 to 7", or with gaps "8 ranks from rank 0 on".
std::string ranks_text(std::span<const std::uint32_t> ranks);

/// "; its last operation: …", or an empty text if there is no operation.
std::string in_last_operation(const std::string& operation);

}  // namespace paceline::launcher
