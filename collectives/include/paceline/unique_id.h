// The id by which ranks find each other without a launcher. One process makes it and copies it to
// all ranks, for example through a file, MPI or a socket.
//
// Example:
//   paceline::UniqueId id;
//   if (rank == 0) id = paceline::make_unique_id().value();
//   MPI_Bcast(id.bytes.data(), paceline::UniqueId::kBytes, MPI_BYTE, 0, MPI_COMM_WORLD);
//   paceline::Communicator world = paceline::Communicator::init(id, rank, size).value();
#pragma once

#include <array>
#include <cstddef>

#include <paceline/status.h>

namespace paceline {

/// The address of the rendezvous, and the secret key of the group. A process that reads the id can
/// join, so keep it like a password. Plain bytes, to be copied unchanged.
struct UniqueId {
  static constexpr std::size_t kBytes = 128;
  std::array<std::byte, kBytes> bytes{};
};

/// Makes a new id. This process then serves the rendezvous until its own rank has joined or it
/// ends. The address is PACELINE_BIND_ADDRESS, or one that PACELINE_NET selects, or else 127.0.0.1.
/// For ranks on several hosts, set one of these variables on every rank. Any thread may call it.
/// Code::kUnavailable if the address cannot be served.
Result<UniqueId> make_unique_id();

}  // namespace paceline
