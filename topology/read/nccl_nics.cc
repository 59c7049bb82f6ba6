#include "topology/read/nccl_nics.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "comm/base/text.h"
#include "comm/base/try.h"
#include "topology/model/nccl_words.h"
#include "topology/model/nic_name.h"
#include "topology/model/pci_vendors.h"
#include "topology/read/bounds.h"

namespace paceline::topology {
namespace {

constexpr std::uint64_t kMostMbit = 10'000'000;  // no port is that fast

}  // namespace

Result<std::uint64_t> bounded_number(const XmlDocument& document, pugi::xml_node node,
                                     const char* attribute) {
  if (text_of(node, attribute).empty()) return std::uint64_t{0};
  PACELINE_TRY_ASSIGN(const std::uint64_t number, document.number(node, attribute, 0));
  if (number <= kMostNcclNumber) return number;
  return document.wrong(node, std::string(attribute) + "=\"" + printable(text_of(node, attribute)) +
                                  "\" is more than " + std::to_string(kMostNcclNumber));
}

Status NcclNics::add(pugi::xml_node pci, const PciFunction& function, bool is_infiniband) {
  Nic nic{.pci = function};
  const auto nets = pci.child("nic").children("net");
  const auto named =
      std::ranges::find_if(nets, [](pugi::xml_node net) { return !text_of(net, "name").empty(); });
  take_name(nic, named == nets.end() ? to_text(*function.bus) : text_of(*named, "name"));
  if (is_infiniband && nic.kind == NicKind::kUnknown) nic.kind = NicKind::kInfiniband;
  for (const pugi::xml_node net : nets) PACELINE_TRY(take_net(nic, net));
  return add(pci, std::move(nic));
}

Status NcclNics::add_without_pci(pugi::xml_node element, int bridge) {
  for (const pugi::xml_node net : element.children("net")) {
    const std::string name(text_of(net, "name"));
    if (name.empty()) return document_.wrong(net, "a <net> has no name");
    const auto [found, is_new] = nets_.try_emplace(name, host_.nics.size());
    if (!is_new) {
      Nic& known = host_.nics[found->second];
      if (known.pci.bridge != bridge) known.pci.bridge = kNone;
      PACELINE_TRY(take_net(known, net));
      continue;
    }
    Nic nic{.pci = {.bridge = bridge}};
    take_name(nic, name);
    PACELINE_TRY(take_net(nic, net));
    PACELINE_TRY(add(element, std::move(nic)));
  }
  return {};
}

Status NcclNics::add(pugi::xml_node element, Nic nic) {
  if (is_efa(nic.pci.vendor, nic.pci.device)) nic.kind = NicKind::kEfa;
  if (host_.nics.size() == kMostNics)
    return document_.wrong(element, "more than " + std::to_string(kMostNics) + " NICs");
  if (nic.guid.is_known()) ++guids_[*nic.guid];
  host_.nics.push_back(std::move(nic));
  return {};
}

// The fastest port counts. A speed of -1 is a driver's way to say that it does not know.
Status NcclNics::take_net(Nic& nic, pugi::xml_node net) {
  const std::string_view text = text_of(net, "speed");
  const auto speed = parse_number<std::int64_t>(text);
  if (!speed && !text.empty())
    return document_.wrong(net, "speed=\"" + printable(text) + "\" is not a number");
  const auto mbit = static_cast<std::uint64_t>(std::max<std::int64_t>(speed.value_or(0), 0));
  if (mbit > kMostMbit) {
    warnings_.say("NIC " + printable(nic.name) + " has " + std::to_string(mbit) +
                  " Mbit/s, which is not possible; its rate is ignored");
  } else if (mbit > nic.rate_mbit.value.value_or(0)) {
    PACELINE_TRY_ASSIGN(const std::uint64_t port, bounded_number(document_, net, "port"));
    nic.rate_mbit = known(mbit);
    nic.port = std::max(1, static_cast<int>(port));  // 0 of what has no ports
  }
  if (const auto guid = guid_of_nccl(text_of(net, "guid"))) nic.guid = known(*guid);
  return {};
}

void NcclNics::keep_guids() {
  for (Nic& nic : host_.nics)
    if (nic.guid.is_known() && guids_[*nic.guid] > 1) nic.guid = {};
}

}  // namespace paceline::topology
