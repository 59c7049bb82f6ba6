// Hosts, ranks and how a rank ended, in the words of messages. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "launcher/channel/messages.pb.h"
#include "launcher/job/job_state.h"

namespace paceline::launcher {

/// "host h2: <text>".
std::string in_host(const JobState& state, std::size_t host, const std::string& text);
/// "rank 3 on host h2 (pid 4711)".
std::string describe_rank(const JobState& state, std::size_t rank);
/// "rank 3 on host h2", without the host if there is only one. The number may be wrong: other ranks
/// blame it.
std::string name_rank(const JobState& state, int rank);
/// "; ending 3 ranks", for the end of a message; empty if all have ended, or their hosts are lost.
std::string ending_text(const JobState& state);

/// "exited with code 3; peak memory 20 MiB; its last operation: barrier #3, running for 2.1 s"
std::string in_words(const messages::RankExited& exited);

/// Ranks in ascending order: "rank 3", "ranks 4 to 7", or with gaps "8 ranks from rank 0 on".
std::string ranks_text(std::span<const std::uint32_t> ranks);

/// Returns "; its last operation: <operation>" for the end of a message. Returns an empty text if
/// `operation` is empty.
std::string in_last_operation(const std::string& operation);

}  // namespace paceline::launcher
