// Machines drawn by lot: valid, and as odd as real ones are.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "comm/base/random.h"
#include "topology/model/at.h"
#include "topology/model/finish.h"
#include "topology/model/pcie_link.h"

namespace paceline::topology {

/// Draws one machine. A value of its own for each seed.
class MachineLot {
 public:
  explicit MachineLot(std::uint64_t seed) : random_(seed) {}

  HostModel draw() {
    host_.sources = {"a lot"};
    draw_words();
    if (random_.chance(0.93)) draw_cpus();
    draw_memory_beside();
    if (!host_.cpus.is_empty() && random_.chance(0.2)) draw_withheld();
    if (random_.chance(0.8)) draw_bridges();
    draw_gpus();
    draw_nics();
    if (host_.cpus.is_empty() && host_.numa_nodes.empty() && host_.gpus.empty() &&
        host_.nics.empty())
      draw_cpus();
    draw_links();
    if (host_.bridges.empty() || (!is_divided_ && random_.chance(0.1))) draw_stated();
    return finish(std::move(host_), 0).value();
  }

 private:
  int number(int least, int most) {
    return least + static_cast<int>(random_.below(static_cast<std::uint64_t>(most - least + 1)));
  }
  template <class List>
  auto one_of(const List& list) {
    return *(std::begin(list) + static_cast<std::ptrdiff_t>(random_.below(std::size(list))));
  }
  template <class T>
  Fact<T> perhaps(double probability, T value) {
    return random_.chance(probability) ? known(std::move(value)) : Fact<T>();
  }

  // A letter at both ends: readers of hwloc's XML drop blanks there.
  std::string odd_text() {
    constexpr std::array<const char*, 12> kPieces = {" ",  "\"",   "&", "<", ">",  "'",
                                                     "\n", "\xff", "é", "…", "--", "]]>"};
    std::string text = "a";
    for (int i = number(0, 6); i > 0; --i)
      text.append(one_of(kPieces)).append(at(number(0, 40)), 'x');
    return text + "z";
  }
  std::string text(const char* usual) { return random_.chance(0.8) ? usual : odd_text(); }

  void draw_words() {
    constexpr std::array<const char*, 6> kArchitectures = {"",        "x86_64",  "x86_64",
                                                           "aarch64", "ppc64le", "riscv64"};
    constexpr std::array<Processor (*)(), 3> kProcessors = {
        [] {
          return Processor{"GenuineIntel", 6, 143};
        },
        [] {
          return Processor{"AuthenticAMD", 25, 17};
        },
        [] {
          return Processor{"CentaurHauls", 7, 0};
        }};
    if (random_.chance(0.7)) host_.name = text("node0001");
    if (random_.chance(0.7)) host_.product = text("A server");
    host_.architecture = one_of(kArchitectures);
    if (host_.architecture == "x86_64" && random_.chance(0.6))
      host_.processor = known(one_of(kProcessors)());
  }

  // ---- CPUs and memory

  // Packages have 1 to 4 nodes, which have 1 to 6 cores; or one node has all packages.
  void draw_cpus() {
    constexpr std::array<int, 3> kThreads = {1, 2, 4}, kNodes = {1, 2, 4};
    constexpr std::array<const char*, 4> kModels = {
        "", "AMD EPYC 9554 64-Core Processor", "Intel(R) Xeon(R) Platinum 8480C", "Neoverse-V2"};
    const int packages = number(1, 4), nodes = one_of(kNodes), threads = one_of(kThreads);
    const int cores = packages * nodes * number(1, 6);
    const bool has_packages = random_.chance(0.85), has_cores = random_.chance(0.8);
    const bool has_nodes = random_.chance(0.93), is_one_node = random_.chance(0.1);
    const bool is_interleaved = random_.chance(0.5);
    const bool is_hybrid = random_.chance(0.1);
    const auto kind_of = [](int core) {
      return std::string(core % 3 == 0 ? "IntelCore" : "capacity 446");
    };
    const std::string model = random_.chance(0.9) ? one_of(kModels) : odd_text();
    const int first = random_.chance(0.85)                ? 0
                      : !has_nodes || random_.chance(0.8) ? number(1, 90)
                                                          : 1000;
    const int package_step = random_.chance(0.85) ? 1 : 8, node_step = random_.chance(0.85) ? 1 : 4;
    std::vector<CpuSet> in_package(at(packages)), in_node(at(packages * nodes));
    for (int core = 0; core < cores; ++core) {
      CpuSet one;
      for (int thread = 0; thread < threads; ++thread)
        one.add(at(first + (is_interleaved ? core + thread * cores : core * threads + thread)));
      if (has_cores)
        host_.cores.push_back({one, is_hybrid ? known(kind_of(core)) : Fact<std::string>()});
      in_package[at(core * packages / cores)].add(one);
      in_node[at(core * packages * nodes / cores)].add(one);
      host_.cpus.add(one);
    }
    for (int i = 0; i < packages && has_packages; ++i)
      host_.packages.push_back({i * package_step, in_package[at(i)], model});
    for (int i = 0; i < packages * nodes && has_nodes && !is_one_node; ++i)
      host_.numa_nodes.push_back({i * node_step, in_node[at(i)], memory()});
    if (has_nodes && is_one_node) host_.numa_nodes.push_back({node_step, host_.cpus, memory()});
    draw_caches(in_package, in_node);
  }

  std::uint64_t memory() {
    return random_.chance(0.8) ? std::uint64_t{1} << number(20, 40) : std::uint64_t{0};
  }

  void draw_caches(const std::vector<CpuSet>& in_package, const std::vector<CpuSet>& in_node) {
    if (random_.chance(0.3)) return;
    const int level = number(2, 3);
    for (const CpuSet& cpus : random_.chance(0.4) ? in_package : in_node)
      host_.caches.push_back({cpus, std::uint64_t{1} << number(20, 28), level});
  }

  // Memory without CPUs of its own: of high bandwidth beside a node, of GPUs, behind a link.
  void draw_memory_beside() {
    const std::size_t ordinary = host_.numa_nodes.size();
    int next = ordinary == 0 ? 0 : host_.numa_nodes.back().number + number(1, 3);
    if (random_.chance(0.15))
      for (std::size_t i = 0; i < ordinary; ++i)
        host_.numa_nodes.push_back(
            {next++, host_.numa_nodes[i].cpus, memory(), MemoryKind::kHighBandwidth});
    if (random_.chance(0.1)) host_.numa_nodes.push_back({next++, {}, memory()});
    if (random_.chance(0.15))
      for (int i = number(1, 4); i > 0; --i)
        host_.numa_nodes.push_back({next++, {}, memory(), MemoryKind::kDevice});
  }

  // CPUs of no core, as hwloc's later versions show them, or some of cores.
  void draw_withheld() {
    if (random_.chance(0.4)) {
      for (const std::size_t cpu : host_.cpus.cpus())
        if (cpu % 5 == 1) host_.withheld.add(cpu);
      host_.cpus.remove(host_.withheld);
      if (!host_.cpus.is_empty()) return;
      host_.cpus = std::exchange(host_.withheld, {});
    }
    const auto last = host_.cpus.cpus().back();
    for (int i = number(1, 8); i > 0; --i) host_.withheld.add(last + at(i));
  }

  // ---- PCIe

  Fact<std::uint64_t> pcie() {
    constexpr std::array<const char*, 4> kSpeeds = {"2.5", "8", "16", "32"};
    if (random_.chance(0.03)) return known(std::uint64_t{12345});
    return perhaps(0.85, *pcie_mb_per_s(one_of(kSpeeds), std::uint64_t{1} << number(0, 4)));
  }

  BusId bus() {
    next_bus_ += number(1, 3);
    return {.domain = domain_, .bus = static_cast<std::uint8_t>(next_bus_)};
  }

  Fact<Place> near() {
    if (random_.chance(0.1)) return {};
    std::vector<NumaNode> nodes = cpu_nodes(host_);
    if (nodes.empty()) return perhaps(host_.cpus.is_empty() ? 0 : 0.5, Place{.cpus = host_.cpus});
    if (random_.chance(0.05)) return known(Place{.cpus = host_.cpus});
    const NumaNode node = one_of(nodes);
    if (random_.chance(0.05) && !host_.caches.empty())
      return known(Place{.cpus = one_of(host_.caches).cpus});
    Place place{.cpus = node.cpus, .numa_nodes = {node.number}};
    if (random_.chance(0.05)) {
      const NumaNode other = one_of(nodes);
      place.cpus.add(other.cpus);
      if (other.number != node.number) place.numa_nodes.push_back(other.number);
    }
    return known(std::move(place));
  }

  void draw_bridges() {
    if (random_.chance(0.2)) domain_ = std::uint32_t(number(1, 0xffe));
    for (int i = number(1, 6); i > 0; --i) host_.bridges.push_back({.near = near()});
    for (int i = number(0, 8); i > 0; --i) {
      const auto parents = static_cast<int>(host_.bridges.size());
      host_.bridges.push_back({.kind = BridgeKind::kSwitch,
                               .bus = perhaps(0.95, bus()),
                               .parent = number(0, parents - 1),
                               .mb_per_s = pcie()});
    }
  }

  PciFunction function(std::uint16_t vendor, std::uint16_t device) {
    PciFunction pci{.bus = known(bus()), .vendor = vendor, .device = device, .mb_per_s = pcie()};
    const auto bridges = static_cast<int>(host_.bridges.size());
    if (bridges > 0 && random_.chance(0.96)) pci.bridge = number(0, bridges - 1);
    return pci;
  }

  // ---- devices

  struct GpuMaker {
    std::uint16_t vendor;
    std::uint16_t device;
    const char* first;   // library
    const char* second;  // of the same devices; none
    const char* model;
    LinkKind links;
  };
  static constexpr std::array<GpuMaker, 3> kMakers = {
      {{0x10de, 0x2330, "cuda", "nvml", "NVIDIA H100 80GB HBM3", LinkKind::kNvlink},
       {0x1002, 0x74a1, "rsmi", nullptr, "AMD Instinct MI300X", LinkKind::kXgmi},
       {0x8086, 0x0bd5, "ze", nullptr, "Intel Data Center GPU Max", LinkKind::kXe}}};

  // All of one maker, and named in one way: by libraries, by a table, or by the address alone.
  void draw_gpus() {
    maker_ = one_of(kMakers);
    enum class Names { kLibrary, kTable, kAddress };
    constexpr std::array<Names, 6> kNames = {Names::kLibrary, Names::kLibrary, Names::kLibrary,
                                             Names::kLibrary, Names::kTable,   Names::kAddress};
    const bool has_pci = !host_.bridges.empty() || random_.chance(0.3);
    Names names = one_of(kNames);
    if (!has_pci && names == Names::kAddress) names = Names::kTable;
    const bool has_vendor = random_.chance(0.3);
    is_divided_ = !host_.bridges.empty() && names == Names::kTable &&
                  maker_.links == LinkKind::kNvlink && random_.chance(0.3);
    const bool has_second = maker_.second != nullptr && random_.chance(0.5);
    for (int i = 0, count = number(0, 8); i < count; ++i) {
      Gpu gpu{.number = i};
      if (has_pci) gpu.pci = function(maker_.vendor, maker_.device);
      if (is_divided_ && gpu.pci.bridge == kNone) gpu.pci.bridge = 0;
      if (is_divided_ && i % 2 != 0) gpu.pci = host_.gpus.back().pci;
      if (!has_pci && has_vendor) gpu.pci.vendor = maker_.vendor;
      if (gpu.pci.bridge == kNone) gpu.near = near();
      gpu.name = names == Names::kLibrary ? maker_.first + std::to_string(i)
                 : names == Names::kTable ? "GPU" + std::to_string(i)
                                          : to_text(*gpu.pci.bus);
      if (names != Names::kAddress) gpu.names = {gpu.name};
      if (names == Names::kLibrary && has_second)
        gpu.names.push_back(maker_.second + std::to_string(i));
      gpu.model = perhaps(0.6, text(maker_.model));
      gpu.memory_bytes = perhaps(0.6, std::uint64_t(number(1, 192)) << 30);
      gpu.uuid = perhaps(0.4, "GPU-" + std::to_string(random_.next()));
      if (maker_.links == LinkKind::kXe && random_.chance(0.2)) gpu.parts = 2;
      if (random_.chance(0.05) && gpu.pci.bridge != kNone) gpu.near = near();
      host_.gpus.push_back(std::move(gpu));
    }
  }

  struct NicMaker {
    const char* name;       // with RDMA; else of the interface
    const char* interface;  // none
    NicKind kind;
    std::uint16_t vendor;
    std::uint16_t device;
  };
  static constexpr std::array<NicMaker, 8> kNicMakers = {
      {{"mlx5_", "ib", NicKind::kInfiniband, 0x15b3, 0x1021},
       {"mlx5_", "ens", NicKind::kRoce, 0x15b3, 0x1021},
       {"mlx5_", nullptr, NicKind::kUnknown, 0x15b3, 0x1021},
       {nullptr, "eth", NicKind::kEthernet, 0x8086, 0x1593},
       {nullptr, "enx", NicKind::kEthernet, 0x14e4, 0x1657},
       {"hfi1_", nullptr, NicKind::kOmniPath, 0x8086, 0x24f0},
       {"cxi", "hsn", NicKind::kSlingshot, 0x17db, 0x0501},
       {"rdmap", nullptr, NicKind::kEfa, 0x1d0f, 0xefa1}}};

  void draw_nics() {
    const bool has_pci = !host_.bridges.empty() || random_.chance(0.3);
    for (int i = 0, count = number(0, 6); i < count; ++i) {
      const NicMaker& maker = one_of(kNicMakers);
      const std::string suffix = std::to_string(i);
      Nic nic{.kind = maker.kind, .has_rdma = maker.name != nullptr};
      if (maker.interface != nullptr) nic.interfaces = {maker.interface + suffix};
      nic.name = nic.has_rdma ? maker.name + suffix : nic.interfaces.front();
      const bool has_address = has_pci && random_.chance(0.95);
      if (has_address) nic.pci = function(maker.vendor, maker.device);
      if (!has_address && !host_.bridges.empty() && random_.chance(0.7))
        nic.pci.bridge = number(0, static_cast<int>(host_.bridges.size()) - 1);
      if (nic.pci.bridge == kNone) nic.near = near();
      if (random_.chance(0.2)) nic.port = 2;
      nic.is_up = perhaps(0.4, random_.chance(0.5));
      nic.rate_mbit = perhaps(0.7, std::uint64_t(number(1, 8)) * 50000);
      nic.gid = perhaps(0.3, Gid{.index = number(0, 5), .text = "fe80::" + suffix});
      nic.guid = perhaps(nic.has_rdma ? 0.4 : 0.0, "ec0d:9a03:0067:00f" + suffix);
      host_.nics.push_back(std::move(nic));
    }
  }

  // ---- links

  void draw_links() {
    const int gpus = static_cast<int>(host_.gpus.size());
    if (gpus < 2 || random_.chance(0.4)) return;
    const bool has_counts = random_.chance(0.6), has_rates = random_.chance(0.4);
    const int count = has_counts ? number(1, 12) : 0;
    GpuLink link{.kind = maker_.links, .count = count};
    const std::uint64_t rate = random_.chance(0.8) ? 25000 * std::uint64_t(number(1, 12)) : 30000;
    if (has_rates)
      link.mb_per_s = known(has_counts ? 25000 * static_cast<std::uint64_t>(count) : rate);
    const bool to_switches = is_divided_ || random_.chance(0.3);
    if (to_switches) link.end = LinkEnd::kSwitch;
    for (int a = 0; a < gpus; ++a) {
      link.gpu = a;
      if (to_switches && random_.chance(0.9)) host_.links.push_back(link);
      for (int b = a + 1; b < gpus && !to_switches; ++b) {
        link.peer = b;
        if (random_.chance(0.7)) host_.links.push_back(link);
      }
    }
    if (random_.chance(0.3)) draw_links_to_packages(link);
  }

  void draw_links_to_packages(GpuLink link) {
    link.end = LinkEnd::kPackage;
    for (std::size_t i = 0; i < host_.gpus.size() && !host_.packages.empty(); ++i) {
      link.gpu = static_cast<int>(i);
      link.peer = number(0, static_cast<int>(host_.packages.size()) - 1);
      if (random_.chance(0.6)) host_.links.push_back(link);
    }
  }

  // As a matrix states paths, which is less than the tree of bridges does.
  void draw_stated() {
    constexpr std::array<PathKind, 5> kKinds = {PathKind::kPix, PathKind::kPxb, PathKind::kPhb,
                                                PathKind::kNode, PathKind::kSys};
    std::vector<DeviceRef> devices;
    for (std::size_t i = 0; i < host_.gpus.size(); ++i)
      devices.push_back({DeviceKind::kGpu, static_cast<int>(i)});
    for (std::size_t i = 0; i < host_.nics.size(); ++i)
      devices.push_back({DeviceKind::kNic, static_cast<int>(i)});
    const bool has_links = random_.chance(0.5);
    for (std::size_t a = 0; a < devices.size(); ++a) {
      for (std::size_t b = a + 1; b < devices.size(); ++b) {
        StatedPath path{.a = devices[a], .b = devices[b], .kind = one_of(kKinds)};
        if (path.b.kind == DeviceKind::kGpu && has_links && random_.chance(0.8)) {
          path.kind = PathKind::kNvl;
          path.links = number(0, 4);
        }
        host_.stated.push_back(path);
      }
    }
  }

  Random random_;
  HostModel host_;
  GpuMaker maker_ = kMakers[0];
  bool is_divided_ = false;  // two GPUs have one address: they are parts of one
  std::uint32_t domain_ = 0;
  int next_bus_ = 0;
};

inline HostModel random_machine(std::uint64_t seed) { return MachineLot(seed).draw(); }

}  // namespace paceline::topology
