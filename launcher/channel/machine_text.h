// A machine's description on its way from an agent to the head: JSON, deflated (zlib, RFC 1950).
#pragma once

#include <cstdint>
#include <string>

#include <paceline/status.h>

#include "topology/model/host_model.h"

namespace paceline::launcher {

struct PackedMachine {
  std::uint64_t digest = 0;
  std::string bytes;
};

/// Without what two machines of one make differ in: name, addresses, serial numbers, and what the
/// kernel keeps of the memory.
PackedMachine pack_machine(topology::HostModel host);

/// Believes nothing; `name` is for errors. What it unpacks to is bounded.
Result<topology::HostModel> unpack_machine(const std::string& name, const std::string& bytes);

}  // namespace paceline::launcher
