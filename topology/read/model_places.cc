#include "topology/read/model_places.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "comm/base/cpu_set.h"
#include "comm/base/try.h"
#include "topology/read/bounds.h"
#include "topology/read/json_text.h"
#include "topology/read/named_text.h"

namespace paceline::topology {
namespace {

// Deeper than any machine; what draws bridges follows them from one to the next.
constexpr int kMostBridgesAbove = 64;
constexpr int kMostParts = 1024;
constexpr int kMostLevels = 9;

class PlaceCheck {
 public:
  PlaceCheck(const JsonValue& top, const HostModel& host)
      : file_(top.file()), top_(top.path()), host_(host) {}

  Status check() const {
    PACELINE_TRY(check_bridges());
    PACELINE_TRY(check_devices());
    for (std::size_t i = 0; i < host_.links.size(); ++i) PACELINE_TRY(check_link(i));
    for (std::size_t i = 0; i < host_.stated.size(); ++i) PACELINE_TRY(check_stated(i));
    const JsonPath nodes = top_ / "numa_nodes", caches = top_ / "caches";
    for (std::size_t i = 0; i < host_.caches.size(); ++i) {
      PACELINE_TRY(at_most(caches / i, "level", host_.caches[i].level, kMostLevels));
      if (host_.caches[i].level < 1) return wrong(caches / i / "level", "must be 1 or more");
    }
    for (std::size_t i = 0; i < host_.numa_nodes.size(); ++i)
      PACELINE_TRY(at_most(nodes / i, "number", host_.numa_nodes[i].number,
                           static_cast<int>(CpuSet::kMostCpus) - 1));
    return {};
  }

 private:
  Status wrong(const JsonPath& at, const std::string& reason) const {
    return unreadable(file_, 0, at.text() + ": " + reason);
  }

  Status at_most(const JsonPath& at, std::string_view key, int number, int most) const {
    if (number <= most) return {};
    return wrong(at / key, std::to_string(number) + " is out of range");
  }

  Status leads(const JsonPath& at, std::string_view key, int place, std::size_t size) const {
    if (place != kNone && static_cast<std::size_t>(place) < size) return {};
    return wrong(at / key,
                 place == kNone ? "must not be null" : std::to_string(place) + " is out of range");
  }

  Status check_bridges() const {
    const JsonPath list = top_ / "bridges";
    std::vector<int> above(host_.bridges.size());  // how many bridges are above each
    for (std::size_t i = 0; i < host_.bridges.size(); ++i) {
      const Bridge& bridge = host_.bridges[i];
      const JsonPath at = list / i;
      if (bridge.kind == BridgeKind::kHost) {
        if (bridge.parent != kNone) return wrong(at / "parent", "must be null for a host bridge");
        continue;
      }
      PACELINE_TRY(leads(at, "parent", bridge.parent, host_.bridges.size()));
      const auto parent = static_cast<std::size_t>(bridge.parent);
      if (parent >= i) return wrong(at / "parent", "a parent must come before its children");
      above[i] = above[parent] + 1;
      if (above[i] > kMostBridgesAbove)
        return wrong(at / "parent", "the bridge has more than " +
                                        std::to_string(kMostBridgesAbove) + " bridges above it");
    }
    return {};
  }

  Status check_devices() const {
    const JsonPath gpus = top_ / "gpus", nics = top_ / "nics";
    for (std::size_t i = 0; i < host_.gpus.size(); ++i) {
      const Gpu& gpu = host_.gpus[i];
      PACELINE_TRY(check_pci(gpus / i, gpu.pci));
      PACELINE_TRY(at_most(gpus / i, "parts", gpu.parts, kMostParts));
      if (gpu.parts < 1) return wrong(gpus / i / "parts", "must be 1 or more");
    }
    for (std::size_t i = 0; i < host_.nics.size(); ++i)
      PACELINE_TRY(check_pci(nics / i, host_.nics[i].pci));
    return {};
  }

  Status check_pci(const JsonPath& device, const PciFunction& pci) const {
    if (pci.bridge == kNone) return {};
    return leads(device / "pci", "bridge", pci.bridge, host_.bridges.size());
  }

  Status check_link(std::size_t i) const {
    const GpuLink& link = host_.links[i];
    const JsonPath list = top_ / "links", at = list / i;
    PACELINE_TRY(leads(at, "gpu", link.gpu, host_.gpus.size()));
    PACELINE_TRY(at_most(at, "count", link.count, kMostLinks));
    if (link.end == LinkEnd::kSwitch)
      return link.peer == kNone ? Status() : wrong(at / "peer", "must be null for a switch");
    const bool to_package = link.end == LinkEnd::kPackage;
    return leads(at, "peer", link.peer, to_package ? host_.packages.size() : host_.gpus.size());
  }

  Status check_stated(std::size_t i) const {
    const StatedPath& path = host_.stated[i];
    const JsonPath list = top_ / "stated", at = list / i;
    PACELINE_TRY(at_most(at, "links", path.links, kMostLinks));
    PACELINE_TRY(check_device(at / "a", path.a));
    return check_device(at / "b", path.b);
  }

  Status check_device(const JsonPath& at, const DeviceRef& device) const {
    const bool is_gpu = device.kind == DeviceKind::kGpu;
    return leads(at, "place", device.place, is_gpu ? host_.gpus.size() : host_.nics.size());
  }

  const std::string& file_;
  const JsonPath& top_;
  const HostModel& host_;
};

}  // namespace

Status check_places(const JsonValue& top, const HostModel& host) {
  return PlaceCheck(top, host).check();
}

}  // namespace paceline::topology
