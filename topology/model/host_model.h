// One host as data: CPUs, memory, PCIe, GPUs, NICs and the links between them, and who said so.
//
// Readers (topology/read) make it, from the live machine or from a file; everything else only reads
// it. Lists hold what is there in a fixed order, and refer to each other by place:
//
//   numa_nodes, packages   by their number in the kernel, which need be neither dense nor ordered
//   gpus                   by the number that programs know them by (CUDA_VISIBLE_DEVICES)
//   nics                   by name, numbers in it as numbers: mlx5_2 before mlx5_10
//   bridges                a parent before its children
//
// PCIe bridges stand here as NCCL counts them: a switch is one bridge, not an upstream port with a
// downstream port for each device, and a root port is none, unless several devices share it. What
// leads to neither GPU nor NIC is left out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "comm/base/cpu_set.h"
#include "topology/model/bus_id.h"
#include "topology/model/path_kind.h"

namespace paceline::topology {

/// Who said something: a place in HostModel::sources.
using SourceIndex = int;
inline constexpr SourceIndex kNobody = -1;
inline constexpr int kNone = -1;  ///< no place in a list

/// Something that one source may know and another not, or know better. Equal where the values are,
/// whoever said so.
template <class T>
struct Fact {
  std::optional<T> value;
  SourceIndex source = kNobody;

  bool is_known() const { return value.has_value(); }
  const T& operator*() const { return *value; }
  const T* operator->() const { return &*value; }
  bool operator==(const Fact& other) const { return value == other.value; }
};

template <class T>
Fact<T> known(T value, SourceIndex source = 0) {
  return {.value = std::move(value), .source = source};
}

/// Where on the host something is attached: what lies nearest.
struct Place {
  CpuSet cpus;
  std::vector<int> numa_nodes;  ///< their numbers in the kernel, ascending

  bool operator==(const Place&) const = default;
};

struct Package {
  int number = 0;
  CpuSet cpus;
  std::string cpu_model;

  bool operator==(const Package&) const = default;
};

/// An x86 processor in the numbers of NCCL (nccl, src/graph/topo.cc).
struct Processor {
  std::string vendor;  ///< of CPUID: "GenuineIntel", "AuthenticAMD"
  int family = 0;
  int model = 0;

  bool operator==(const Processor&) const = default;
};

enum class MemoryKind : std::uint8_t {
  kOrdinary,
  kHighBandwidth,  ///< beside ordinary memory of the same CPUs
  kDevice,         ///< a GPU's
};

/// Several may have the same CPUs: one of ordinary memory, and others beside it. Only those of
/// ordinary memory divide the CPUs.
struct NumaNode {
  int number = 0;
  CpuSet cpus;
  std::uint64_t memory_bytes = 0;  ///< 0: nobody said
  MemoryKind kind = MemoryKind::kOrdinary;

  bool operator==(const NumaNode&) const = default;
};

/// A cache of the last level.
struct Cache {
  CpuSet cpus;
  std::uint64_t bytes = 0;
  int level = 3;  ///< 1 to 9: L3; on machines without one, L2

  bool operator==(const Cache&) const = default;
};

struct Core {
  CpuSet cpus;                  ///< its hardware threads
  Fact<std::string> kind = {};  ///< where a host has several: "IntelCore", "IntelAtom"

  bool operator==(const Core&) const = default;
};

enum class BridgeKind : std::uint8_t {
  kHost,    ///< the end of a PCIe root complex at the CPUs; it has a place and no parent
  kSwitch,  ///< below another
};

struct Bridge {
  BridgeKind kind = BridgeKind::kHost;
  Fact<BusId> bus;               ///< a switch's own; a host bridge may have none
  int parent = kNone;            ///< in HostModel::bridges
  Fact<std::uint64_t> mb_per_s;  ///< each way, to its parent
  Fact<Place> near;              ///< of a host bridge

  bool operator==(const Bridge&) const = default;
};

/// What GPUs and NICs have in common as PCIe functions.
struct PciFunction {
  Fact<BusId> bus;
  std::uint16_t vendor = 0;  ///< PCI IDs; 0: nobody said
  std::uint16_t device = 0;
  int bridge = kNone;            ///< what it is below of, in HostModel::bridges
  Fact<std::uint64_t> mb_per_s;  ///< of its own PCIe link, each way

  bool operator==(const PciFunction&) const = default;
};

struct Gpu {
  int number = 0;                  ///< its place in HostModel::gpus
  std::string name;                ///< as the source names it: cuda0, rsmi4, card1, GPU0
  std::vector<std::string> names;  ///< all of them, sorted
  PciFunction pci;
  Fact<Place> near;
  Fact<std::string> model;
  Fact<std::uint64_t> memory_bytes;
  Fact<std::string> uuid;
  int parts = 1;  ///< Xe tiles. Where each is a device for programs, each is a Gpu of one address

  bool operator==(const Gpu&) const = default;
};

enum class NicKind : std::uint8_t {
  kUnknown,
  kEthernet,
  kInfiniband,
  kRoce,
  kOmniPath,
  kSlingshot,
  kEfa,
};

/// The address by which other hosts reach a port.
struct Gid {
  int index = 0;  ///< in the port's table
  std::string text;

  bool operator==(const Gid&) const = default;
};

struct Nic {
  std::string name;                     ///< of the RDMA device where there is one: mlx5_0; or eth0
  std::vector<std::string> interfaces;  ///< of the network, sorted: ib0
  NicKind kind = NicKind::kUnknown;
  bool has_rdma = false;
  PciFunction pci;
  Fact<Place> near;
  int port = 1;  ///< the RDMA port that is meant below: the fastest that is up
  Fact<bool> is_up;
  Fact<std::uint64_t> rate_mbit;  ///< Mbit/s
  Fact<Gid> gid;                  ///< on Ethernet that of RoCE v2
  Fact<std::string> guid;         ///< the node GUID, as sysfs writes it

  bool operator==(const Nic&) const = default;
};

enum class LinkKind : std::uint8_t { kNvlink, kXgmi, kXe };
enum class LinkEnd : std::uint8_t {
  kGpu,
  kPackage,  ///< a CPU (POWER9, Grace)
  kSwitch,   ///< reaches every GPU that has links to switches
};

/// Links past PCIe from one GPU. Between two GPUs it stands once, the lower number first.
struct GpuLink {
  LinkKind kind = LinkKind::kNvlink;
  int gpu = 0;
  LinkEnd end = LinkEnd::kGpu;
  int peer = kNone;              ///< a place in gpus or packages; none: a switch
  int count = 0;                 ///< links side by side; 0: nobody said
  Fact<std::uint64_t> mb_per_s;  ///< each way, of all of them together

  bool operator==(const GpuLink&) const = default;
};

enum class DeviceKind : std::uint8_t { kGpu, kNic };

struct DeviceRef {
  DeviceKind kind = DeviceKind::kGpu;
  int place = 0;  ///< in HostModel::gpus or nics

  auto operator<=>(const DeviceRef&) const = default;
};

/// What a source says of two devices without saying why, as a matrix does. `a` is below `b`.
struct StatedPath {
  DeviceRef a, b;
  PathKind kind = PathKind::kSys;
  int links = 0;  ///< of kNvl: how many; 0: nobody said

  bool operator==(const StatedPath&) const = default;
};

/// Something that a source has said and that cannot be so, or that two sources say differently:
/// what it is, and what is assumed instead.
struct Warning {
  std::string text;
  SourceIndex source = kNobody;
};

struct HostModel {
  std::string name;     ///< of the host; empty where nobody said
  std::string product;  ///< the machine's
  std::string architecture;
  Fact<Processor> processor;
  std::vector<std::string> sources;  ///< for people: "sysfs", "hwloc XML lassen.xml"
  std::vector<Warning> warnings;

  CpuSet cpus;      ///< that may be used
  CpuSet withheld;  ///< that exist and may not: off line, or outside of the cgroup
  std::vector<Package> packages;
  std::vector<NumaNode> numa_nodes;
  std::vector<Cache> caches;
  std::vector<Core> cores;  ///< empty where nobody said

  std::vector<Bridge> bridges;
  std::vector<Gpu> gpus;
  std::vector<Nic> nics;
  std::vector<GpuLink> links;
  std::vector<StatedPath> stated;
};

/// Do both say the same of a machine, whatever it is called and whoever said so?
bool same_machine(const HostModel& a, const HostModel& b);

/// The nodes that divide the CPUs: of ordinary memory, with CPUs of their own.
std::vector<NumaNode> cpu_nodes(const HostModel& host);
/// Of the nodes that divide the CPUs, the numbers of those that have any of `cpus`.
std::vector<int> numa_nodes_of(const HostModel& host, const CpuSet& cpus);

}  // namespace paceline::topology
