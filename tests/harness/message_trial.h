// Random exchanges of which every byte is known: several messages of each pair at once, in both
// directions, short and long, from and into buffers and ordinary memory.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include <paceline/message.h>
#include <paceline/paceline.h>
#include <paceline/status.h>

namespace paceline::testing {

struct MessageTrial {
  int rank = 0;
  int ranks = 2;
  std::uint64_t seed = 1;  ///< the same on every rank
  int exchanges = 20;
};

/// Communicator::exchange(), or the same in C.
using Exchange = std::function<Status(std::span<const Message>)>;

/// What a rank does. An error says what was wrong, and in which exchange. Where the process can
/// make no buffers all memory is ordinary.
Status run_message_trial(const MessageTrial& trial, const Exchange& exchange);

/// The same between plGroupStart() and plGroupEnd() on a communicator of C's. The error's text is
/// the communicator's.
Exchange exchange_in_c(plComm_t comm);

}  // namespace paceline::testing
