#include "topology/model/nic_name.h"

#include <algorithm>
#include <array>

namespace paceline::topology {
namespace {

struct Prefix {
  std::string_view text;
  NicKind kind;
  bool is_interface;  // of the network, without RDMA
};

// The names of systemd (enp3s0), rdma-core (rocep3s0) and drivers; the longer prefix comes first.
constexpr std::array<Prefix, 14> kPrefixes = {{{"rdmap", NicKind::kEfa, false},
                                               {"efa", NicKind::kEfa, false},
                                               {"hfi1_", NicKind::kOmniPath, false},
                                               {"cxi", NicKind::kSlingshot, false},
                                               {"hsi", NicKind::kSlingshot, false},
                                               {"roce", NicKind::kRoce, false},
                                               {"bnxt_re", NicKind::kRoce, false},
                                               {"ib", NicKind::kInfiniband, false},
                                               {"eth", NicKind::kEthernet, true},
                                               {"ens", NicKind::kEthernet, true},
                                               {"eno", NicKind::kEthernet, true},
                                               {"enp", NicKind::kEthernet, true},
                                               {"enP", NicKind::kEthernet, true},
                                               {"bond", NicKind::kEthernet, true}}};

}  // namespace

void take_name(Nic& nic, std::string_view name) {
  nic.name = name;
  const auto found = std::ranges::find_if(
      kPrefixes, [&](const Prefix& prefix) { return name.starts_with(prefix.text); });
  const bool is_known = found != kPrefixes.end();
  nic.kind = is_known ? found->kind : NicKind::kUnknown;
  nic.has_rdma = !is_known || !found->is_interface;
  if (!nic.has_rdma) nic.interfaces = {nic.name};
}

}  // namespace paceline::topology
