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

/// Collective. The group once all ranks have come; Code::kTimeout naming those who have not;
/// Code::kPeerLost naming one that has ended, where the launcher knows that it has.
Result<Group> rendezvous(StoreClient& store, const RendezvousRequest& request, Deadline deadline);

}  // namespace paceline
