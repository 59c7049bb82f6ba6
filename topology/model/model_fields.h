// The keys and words of a model as JSON, once for its writer and its reader: what the one writes,
// the other knows.
//
//   std::apply([&](const auto&... field) { (write(field.key, gpu.*field.member), ...); },
//              fields_of<Gpu>());
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "topology/model/host_model.h"

namespace paceline::topology {

inline constexpr int kModelVersion = 1;

template <class T, class Member>
struct Field {
  std::string_view key;
  Member T::*member;
  bool is_place = false;  ///< in a list: kNone is written as null
};

template <class T, class Member>
constexpr Field<T, Member> field(std::string_view key, Member T::*member) {
  return {key, member};
}
template <class T>
constexpr Field<T, int> place_field(std::string_view key, int T::*member) {
  return {key, member, true};
}

/// Specialised for each structure of the model, in the order in which they are written.
template <class T>
struct Fields;
template <class T>
constexpr auto fields_of() {
  return Fields<T>::all();
}
template <class T>
concept HasFields = requires {
  Fields<T>::all();
};

namespace detail {
struct Anything {
  template <class T>
  operator T() const;
};
template <class T, class... Members>
consteval std::size_t member_count() {
  if constexpr (requires { T{Members{}..., Anything{}}; })
    return member_count<T, Members..., Anything>();
  else
    return sizeof...(Members);
}
}  // namespace detail

/// Every member has a key, but the number of a GPU, which is its place.
template <class T>
concept HasAllFields = std::tuple_size_v<decltype(fields_of<T>())>
+ (std::same_as<T, Gpu> ? 1 : 0) == detail::member_count<T>();

/// Specialised for each enumeration, in its order.
template <class T>
struct Words;
template <class T>
concept HasWords = requires {
  Words<T>::kAll.size();
};

template <>
struct Words<MemoryKind> {
  static constexpr std::array<std::string_view, 3> kAll = {"ordinary", "high bandwidth", "device"};
};
template <>
struct Words<BridgeKind> {
  static constexpr std::array<std::string_view, 2> kAll = {"host", "switch"};
};
template <>
struct Words<NicKind> {
  static constexpr std::array<std::string_view, 7> kAll = {
      "unknown", "Ethernet", "InfiniBand", "RoCE", "Omni-Path", "Slingshot", "EFA"};
};
template <>
struct Words<LinkKind> {
  static constexpr std::array<std::string_view, 3> kAll = {"NVLink", "XGMI", "Xe Link"};
};
template <>
struct Words<LinkEnd> {
  static constexpr std::array<std::string_view, 3> kAll = {"GPU", "package", "switch"};
};
template <>
struct Words<DeviceKind> {
  static constexpr std::array<std::string_view, 2> kAll = {"GPU", "NIC"};
};
template <>
struct Words<PathKind> {
  static constexpr auto kAll = kPathWords;
};

template <>
struct Fields<Place> {
  static constexpr auto all() {
    return std::tuple(field("cpus", &Place::cpus), field("numa_nodes", &Place::numa_nodes));
  }
};
template <>
struct Fields<Package> {
  static constexpr auto all() {
    return std::tuple(field("number", &Package::number), field("cpus", &Package::cpus),
                      field("cpu_model", &Package::cpu_model));
  }
};
template <>
struct Fields<Processor> {
  static constexpr auto all() {
    return std::tuple(field("vendor", &Processor::vendor), field("family", &Processor::family),
                      field("model", &Processor::model));
  }
};
template <>
struct Fields<NumaNode> {
  static constexpr auto all() {
    return std::tuple(field("number", &NumaNode::number), field("kind", &NumaNode::kind),
                      field("cpus", &NumaNode::cpus),
                      field("memory_bytes", &NumaNode::memory_bytes));
  }
};
template <>
struct Fields<Cache> {
  static constexpr auto all() {
    return std::tuple(field("cpus", &Cache::cpus), field("bytes", &Cache::bytes),
                      field("level", &Cache::level));
  }
};
template <>
struct Fields<Core> {
  static constexpr auto all() {
    return std::tuple(field("cpus", &Core::cpus), field("kind", &Core::kind));
  }
};
template <>
struct Fields<Bridge> {
  static constexpr auto all() {
    return std::tuple(field("kind", &Bridge::kind), field("bus", &Bridge::bus),
                      place_field("parent", &Bridge::parent), field("mb_per_s", &Bridge::mb_per_s),
                      field("near", &Bridge::near));
  }
};
template <>
struct Fields<PciFunction> {
  static constexpr auto all() {
    return std::tuple(field("bus", &PciFunction::bus), field("vendor", &PciFunction::vendor),
                      field("device", &PciFunction::device),
                      place_field("bridge", &PciFunction::bridge),
                      field("mb_per_s", &PciFunction::mb_per_s));
  }
};
template <>
struct Fields<Gpu> {
  static constexpr auto all() {
    return std::tuple(field("name", &Gpu::name), field("names", &Gpu::names),
                      field("model", &Gpu::model), field("memory_bytes", &Gpu::memory_bytes),
                      field("uuid", &Gpu::uuid), field("parts", &Gpu::parts),
                      field("pci", &Gpu::pci), field("near", &Gpu::near));
  }
};
template <>
struct Fields<Gid> {
  static constexpr auto all() {
    return std::tuple(field("index", &Gid::index), field("text", &Gid::text));
  }
};
template <>
struct Fields<Nic> {
  static constexpr auto all() {
    return std::tuple(
        field("name", &Nic::name), field("interfaces", &Nic::interfaces), field("kind", &Nic::kind),
        field("has_rdma", &Nic::has_rdma), field("port", &Nic::port), field("is_up", &Nic::is_up),
        field("rate_mbit", &Nic::rate_mbit), field("gid", &Nic::gid), field("guid", &Nic::guid),
        field("pci", &Nic::pci), field("near", &Nic::near));
  }
};
template <>
struct Fields<GpuLink> {
  static constexpr auto all() {
    return std::tuple(field("kind", &GpuLink::kind), place_field("gpu", &GpuLink::gpu),
                      field("end", &GpuLink::end), place_field("peer", &GpuLink::peer),
                      field("count", &GpuLink::count), field("mb_per_s", &GpuLink::mb_per_s));
  }
};
template <>
struct Fields<DeviceRef> {
  static constexpr auto all() {
    return std::tuple(field("kind", &DeviceRef::kind), place_field("place", &DeviceRef::place));
  }
};
template <>
struct Fields<StatedPath> {
  static constexpr auto all() {
    return std::tuple(field("a", &StatedPath::a), field("b", &StatedPath::b),
                      field("kind", &StatedPath::kind), field("links", &StatedPath::links));
  }
};
template <>
struct Fields<Warning> {
  static constexpr auto all() {
    return std::tuple(field("text", &Warning::text), place_field("from", &Warning::source));
  }
};
template <>
struct Fields<HostModel> {
  static constexpr auto all() {
    return std::tuple(
        field("name", &HostModel::name), field("product", &HostModel::product),
        field("architecture", &HostModel::architecture), field("processor", &HostModel::processor),
        field("sources", &HostModel::sources), field("warnings", &HostModel::warnings),
        field("cpus", &HostModel::cpus), field("withheld", &HostModel::withheld),
        field("packages", &HostModel::packages), field("numa_nodes", &HostModel::numa_nodes),
        field("caches", &HostModel::caches), field("cores", &HostModel::cores),
        field("bridges", &HostModel::bridges), field("gpus", &HostModel::gpus),
        field("nics", &HostModel::nics), field("links", &HostModel::links),
        field("stated", &HostModel::stated));
  }
};

}  // namespace paceline::topology
