// How ranks find each other: each puts its address into the store and reads the others'.
#pragma once

#include <paceline/group.h>
#include <paceline/status.h>

#include "comm/store_client.h"

namespace paceline {

struct RendezvousRequest {
  std::string group = "world";
  std::uint32_t epoch = 0;
  int rank = 0;
  int size = 1;
  Member self;
};

/// Collective. Returns the group when all ranks have joined. Code::kTimeout names the missing
/// ranks. Code::kPeerLost names a rank that has ended, if the launcher knows of its end. If two
/// processes join as the same rank, both get Code::kMismatch.
Result<Group> rendezvous(StoreClient& store, const RendezvousRequest& request, Deadline deadline);

}  // namespace paceline
