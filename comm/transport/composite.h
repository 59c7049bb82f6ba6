// Transport of a group on several hosts: ranks of this host are reached by one transport, those of
// others by another. Each pair of ranks uses the same one on both sides.
#pragma once

#include <memory>
#include <vector>

#include "comm/transport.h"

namespace paceline {

/// Both are of the whole group; `near` reaches the ranks of `near_ranks`.
std::unique_ptr<Transport> make_composite_transport(std::unique_ptr<Transport> near,
                                                    const std::vector<int>& near_ranks,
                                                    std::unique_ptr<Transport> far);

}  // namespace paceline
