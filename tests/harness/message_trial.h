// Random exchanges whose bytes are known: several messages of each pair at once, in both
// directions, short and long, in buffers and in ordinary memory.
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

/// Communicator::exchange(), or the equivalent in C.
using Exchange = std::function<Status(std::span<const Message>)>;

/// Runs the exchanges of one rank. An error says what was wrong, and in which exchange. If the
/// process cannot make buffers, all memory is ordinary.
Status run_message_trial(const MessageTrial& trial, const Exchange& exchange);

/// An Exchange that calls the C interface between plGroupStart() and plGroupEnd(). The error has
/// the text of the communicator.
Exchange exchange_in_c(plComm_t comm);

}  // namespace paceline::testing
