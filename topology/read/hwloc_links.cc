#include "topology/read/hwloc_links.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "comm/base/text.h"
#include "comm/base/try.h"

namespace paceline::topology {
namespace {

constexpr std::uint64_t kMostObjects = 2048;
constexpr std::uint64_t kMeansBandwidth = 8;  // a bit of the attribute "kind"

struct MatrixName {
  std::string_view name;
  LinkKind kind;
  bool is_estimate = false;  // the links are known, and no source states their bandwidth
};
constexpr std::array<MatrixName, 6> kMatrices = {
    {{"NVLinkBandwidth", LinkKind::kNvlink},
     {"XGMIBandwidth", LinkKind::kXgmi},
     {"XeLinkBandwidth", LinkKind::kXe},
     {"NVLinkBandwidthEstimate", LinkKind::kNvlink, true},
     {"XGMIBandwidthEstimate", LinkKind::kXgmi, true},
     {"XeLinkBandwidthEstimate", LinkKind::kXe, true}}};

// What an object of a matrix is at the end of a link.
struct End {
  enum class Kind : std::uint8_t { kNothing, kGpu, kPackage, kSwitch };
  Kind kind = Kind::kNothing;
  int place = kNone;  // in the host's gpus or packages
};

// What a pair of ends has in both directions.
struct Both {
  std::uint64_t forth = 0, back = 0;
};
using Links = std::map<std::tuple<int, LinkEnd, int>, Both>;  // by GPU, end and peer

class Ends {
 public:
  static Result<Ends> of(const HwlocTree& tree, const std::vector<int>& gpus,
                         const HostModel& host) {
    Ends ends;
    int packages = 0;
    std::vector<int> by_object(tree.objects.size(), kNone);
    for (std::size_t i = 0; i < gpus.size(); ++i)
      by_object[static_cast<std::size_t>(gpus[i])] = static_cast<int>(i);
    for (int at = 0; at < tree.size(); ++at) {
      const HwlocObject& object = tree.at(at);
      int& gpu = by_object[static_cast<std::size_t>(at)];
      if (gpu == kNone && object.parent != kNone && object.type == HwlocType::kOsDevice)
        gpu = gpu_of(object, gpus, host, by_object[static_cast<std::size_t>(object.parent)]);
      End end;
      if (gpu != kNone) end = {End::Kind::kGpu, gpu};
      if (object.type == HwlocType::kPackage) end = {End::Kind::kPackage, packages++};
      if (object.subtype() == "NVSwitch") end = {End::Kind::kSwitch};
      if (!object.node.attribute("gp_index")) continue;
      PACELINE_TRY_ASSIGN(const auto index, tree.document.number(object.node, "gp_index", 0));
      ends.by_index_.emplace(index, end);
    }
    return ends;
  }

  // One object may be several GPUs, and each of them has OS devices of its own.
  static int gpu_of(const HwlocObject& device, const std::vector<int>& gpus, const HostModel& host,
                    int otherwise) {
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      const std::vector<std::string>& names = host.gpus[i].names;
      if (gpus[i] == device.parent && std::ranges::find(names, device.name()) != names.end())
        return static_cast<int>(i);
    }
    return otherwise;
  }

  // Nothing where no object has that index.
  std::optional<End> find(std::uint64_t index) const {
    const auto found = by_index_.find(index);
    if (found == by_index_.end()) return std::nullopt;
    return found->second;
  }

 private:
  std::unordered_map<std::uint64_t, End> by_index_;
};

// The words of all children of one name, each with its node.
template <class Visit>
Status for_each_word(pugi::xml_node matrix, const char* children, Visit visit) {
  for (const pugi::xml_node node : matrix.children(children)) {
    std::string_view text = node.child_value();
    constexpr std::string_view kBlanks = " \t\r\n";
    while (true) {
      text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
      if (text.empty()) break;
      const std::size_t size = std::min(text.find_first_of(kBlanks), text.size());
      PACELINE_TRY(visit(node, text.substr(0, size)));
      text.remove_prefix(size);
    }
  }
  return {};
}

Status no_number(const XmlDocument& document, pugi::xml_node node, std::string_view word) {
  return document.wrong(node, printable(word).insert(0, 1, '"') + "\" is not a number");
}

class Matrix {
 public:
  Matrix(const XmlDocument& document, pugi::xml_node node, const Ends& ends)
      : document_(document), node_(node), all_ends_(ends) {}

  Status read() {
    PACELINE_TRY(read_ends());
    return read_values();
  }

  // Several devices may be of one GPU, as Xe tiles are: their links add up.
  Links links() const {
    Links links;
    for (std::size_t i = 0; i < ends_.size(); ++i)
      for (std::size_t j = 0; j < ends_.size(); ++j)
        if (const std::uint64_t value = values_[i * ends_.size() + j]; value != 0)
          add(links, ends_[i], ends_[j], value);
    return links;
  }

 private:
  // "332", or "OSDev:332" where the objects are of several types.
  Status read_ends() {
    PACELINE_TRY_ASSIGN(const std::uint64_t count, document_.number(node_, "nbobjs", 0));
    if (count == 0 || count > kMostObjects)
      return document_.wrong(node_, "a matrix of " + std::to_string(count) + " objects");
    PACELINE_TRY(for_each_word(node_, "indexes", [&](pugi::xml_node at, std::string_view word) {
      const std::size_t colon = word.rfind(':');
      const auto index =
          parse_number<std::uint64_t>(colon == word.npos ? word : word.substr(colon + 1));
      if (!index) return no_number(document_, at, word);
      const auto end = all_ends_.find(*index);
      if (!end) return document_.wrong(at, "no object has gp_index " + std::to_string(*index));
      ends_.push_back(*end);
      if (ends_.size() > count) return document_.wrong(at, "there are more indexes than nbobjs");
      return Status();
    }));
    if (ends_.size() == count) return {};
    return document_.wrong(node_, "a matrix of " + std::to_string(count) + " objects has " +
                                      std::to_string(ends_.size()) + " indexes");
  }

  Status read_values() {
    PACELINE_TRY(for_each_word(node_, "u64values", [&](pugi::xml_node at, std::string_view word) {
      const auto value = parse_number<std::uint64_t>(word);
      if (!value) return no_number(document_, at, word);
      // So that sums do not overflow; no link is as fast.
      constexpr std::uint64_t kMost = 1'000'000'000'000;
      values_.push_back(std::min(*value, kMost));
      return Status();
    }));
    if (values_.size() == ends_.size() * ends_.size()) return {};
    return document_.wrong(node_, "a matrix of " + std::to_string(ends_.size()) + " objects has " +
                                      std::to_string(values_.size()) + " values");
  }

  static void add(Links& links, const End& from, const End& to, std::uint64_t value) {
    if (from.kind == End::Kind::kNothing || to.kind == End::Kind::kNothing) return;
    const bool is_forth =
        from.kind == End::Kind::kGpu && (to.kind != End::Kind::kGpu || from.place < to.place);
    const End& gpu = is_forth ? from : to;
    const End& peer = is_forth ? to : from;
    if (gpu.kind != End::Kind::kGpu) return;
    if (peer.kind == End::Kind::kGpu && peer.place == gpu.place) return;
    const LinkEnd end = peer.kind == End::Kind::kGpu       ? LinkEnd::kGpu
                        : peer.kind == End::Kind::kPackage ? LinkEnd::kPackage
                                                           : LinkEnd::kSwitch;
    Both& both = links[{gpu.place, end, peer.place}];
    (is_forth ? both.forth : both.back) += value;
  }

  const XmlDocument& document_;
  pugi::xml_node node_;
  const Ends& all_ends_;
  std::vector<End> ends_;
  std::vector<std::uint64_t> values_;
};

void add_links(const Links& links, const MatrixName& matrix, HostModel& host) {
  int uneven = 0;
  for (const auto& [place, both] : links) {
    const auto& [gpu, end, peer] = place;
    const bool has_both = both.forth != 0 && both.back != 0;
    if (both.forth != both.back) ++uneven;
    const std::uint64_t value =
        has_both ? std::min(both.forth, both.back) : std::max(both.forth, both.back);
    host.links.push_back({.kind = matrix.kind, .gpu = gpu, .end = end, .peer = peer});
    if (!matrix.is_estimate) host.links.back().mb_per_s = known(value);
  }
  if (uneven != 0)
    host.warnings.push_back({std::string(matrix.name) + " of " + std::to_string(uneven) +
                                 (uneven == 1 ? " link differs" : " links differ") +
                                 " by direction; the smaller stated value is used",
                             0});
}

Status add_matrix(const HwlocTree& tree, pugi::xml_node node, const Ends& ends,
                  std::vector<std::string_view>& seen, HostModel& host) {
  const auto found = std::ranges::find(kMatrices, text_of(node, "name"), &MatrixName::name);
  if (found == kMatrices.end()) return {};
  const std::string name(found->name);
  PACELINE_TRY_ASSIGN(const std::uint64_t kind,
                      tree.document.number(node, "kind", kMeansBandwidth));
  const bool is_usable = (kind & kMeansBandwidth) != 0 && text_of(node, "indexing") != "os";
  if (!is_usable) {
    host.warnings.push_back({name + " is not a matrix of bandwidths by gp_index; ignored", 0});
    return {};
  }
  if (std::ranges::find(seen, found->name) != seen.end()) {
    host.warnings.push_back({"there is a second matrix " + name + "; the first one is used", 0});
    return {};
  }
  seen.push_back(found->name);
  Matrix matrix(tree.document, node, ends);
  PACELINE_TRY(matrix.read());
  add_links(matrix.links(), *found, host);
  return {};
}

}  // namespace

Status add_hwloc_links(const HwlocTree& tree, const std::vector<int>& gpus, HostModel& host) {
  PACELINE_TRY_ASSIGN(const Ends ends, Ends::of(tree, gpus, host));
  std::vector<std::string_view> seen;
  for (const pugi::xml_node node : tree.document.root().children()) {
    const std::string_view name = node.name();
    if (name != "distances2" && name != "distances2hetero") continue;
    PACELINE_TRY(add_matrix(tree, node, ends, seen, host));
  }
  return {};
}

}  // namespace paceline::topology
