// How ranks find each other where neither a launcher nor the environment says it: one process makes
// an id and hands it to all ranks by whatever way it has, a file, MPI, a socket.
#pragma once

#include <array>
#include <cstddef>

#include <paceline/status.h>

namespace paceline {

/// Where the ranks meet, and the key with which they prove that they belong there: whoever reads it
/// can join, so it is to be kept as a password is. Plain bytes, to be copied as they are.
struct UniqueId {
  static constexpr std::size_t kBytes = 128;
  std::array<std::byte, kBytes> bytes{};
};

/// A new one. The process that makes it serves the meeting, at PACELINE_BIND_ADDRESS (127.0.0.1
/// where that is not set: ranks of one host), until its own rank has joined, or until it ends.
Result<UniqueId> make_unique_id();

}  // namespace paceline
