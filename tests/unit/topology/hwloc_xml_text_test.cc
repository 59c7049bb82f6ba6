#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <hwloc.h>
#include <hwloc/distances.h>

#include "tests/unit/topology/host_words.h"
#include "tests/unit/topology/hwloc_text.h"
#include "tests/unit/topology/many_hosts.h"
#include "tests/unit/topology/random_machine.h"
#include "topology/render/hwloc_cpus.h"
#include "topology/render/render.h"

namespace paceline::topology {
namespace {

// hwloc's own view of what we write.
class Loaded final {
 public:
  explicit Loaded(const HostModel& host) : text_(hwloc_xml_text(host)) {
    hwloc_topology_init(&topology_);
    const auto size = static_cast<int>(text_.size()) + 1;
    EXPECT_EQ(hwloc_topology_set_xmlbuffer(topology_, text_.c_str(), size), 0);
    hwloc_topology_set_io_types_filter(topology_, HWLOC_TYPE_FILTER_KEEP_ALL);
    EXPECT_EQ(hwloc_topology_load(topology_), 0) << text_;
    hwloc_topology_check(topology_);
  }
  ~Loaded() { hwloc_topology_destroy(topology_); }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;

  int count(hwloc_obj_type_t type) const { return hwloc_get_nbobjs_by_type(topology_, type); }
  hwloc_obj_t object(hwloc_obj_type_t type, unsigned place) const {
    return hwloc_get_obj_by_type(topology_, type, place);
  }
  hwloc_obj_t os_device(const std::string& name) const {
    hwloc_obj_t device = nullptr;
    while ((device = hwloc_get_next_osdev(topology_, device)) != nullptr)
      if (name == device->name) break;
    return device;
  }
  using Distances = std::unique_ptr<hwloc_distances_s, std::function<void(hwloc_distances_s*)>>;
  Distances distances(const char* name) const {
    unsigned count = 1;
    hwloc_distances_s* found = nullptr;
    hwloc_distances_get_by_name(topology_, name, &count, &found, 0);
    return {found, [this](hwloc_distances_s* one) { hwloc_distances_release(topology_, one); }};
  }
  hwloc_obj_t machine() const { return hwloc_get_root_obj(topology_); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  hwloc_topology_t topology_ = nullptr;
};

std::string list_of(hwloc_const_bitmap_t set) {
  char* text = nullptr;
  hwloc_bitmap_list_asprintf(&text, set);
  const std::string copied = text;
  std::free(text);
  return copied;
}

TEST(HwlocXmlText, IsReadByHwlocWhateverTheMachineIs) {
  for (const HostModel& host : many_hosts()) {
    const Loaded loaded(host);
    const bool has_cpus = !host.cpus.is_empty();
    EXPECT_EQ(list_of(loaded.machine()->cpuset), has_cpus ? host.cpus.to_text() : "0");
    EXPECT_EQ(loaded.count(HWLOC_OBJ_PU), has_cpus ? host.cpus.count() : 1);
    EXPECT_EQ(loaded.count(HWLOC_OBJ_PACKAGE), static_cast<int>(host.packages.size()));
    EXPECT_GE(loaded.count(HWLOC_OBJ_OS_DEVICE), static_cast<int>(host.gpus.size()));
  }
}

TEST(HwlocXmlText, HasAGroupForANodeThatIsPartOfAPackage) {
  const Loaded loaded(eight_gpu_host());
  EXPECT_EQ(loaded.count(HWLOC_OBJ_GROUP), 4);
  EXPECT_EQ(loaded.count(HWLOC_OBJ_L3CACHE), 8);
  EXPECT_EQ(loaded.count(HWLOC_OBJ_CORE), 64);
  const hwloc_obj_t node = loaded.object(HWLOC_OBJ_NUMANODE, 2);
  EXPECT_EQ(node->os_index, 2U);
  EXPECT_EQ(list_of(node->cpuset), "32-47,96-111");
  EXPECT_EQ(node->attr->numanode.local_memory, std::uint64_t{256} << 30);
  EXPECT_STREQ(hwloc_obj_get_info_by_name(loaded.machine(), "DMIProductName"), "A server");
}

TEST(HwlocXmlText, WithheldCpusAreInCompleteSetsAlone) {
  HostModel host = small_host();
  host.withheld = CpuSet::parse("4-7").value();
  const Loaded loaded(finish(std::move(host), 0).value());
  EXPECT_EQ(list_of(loaded.machine()->cpuset), "0-3");
  EXPECT_EQ(list_of(loaded.machine()->complete_cpuset), "0-7");
  const hwloc_obj_t package = loaded.object(HWLOC_OBJ_PACKAGE, 1);
  EXPECT_EQ(list_of(package->cpuset), "");
  EXPECT_EQ(list_of(package->complete_cpuset), "4-7");
  EXPECT_EQ(loaded.os_device("cuda2")->parent->parent->parent, package);
}

TEST(HwlocXmlText, ASwitchIsAnUpstreamPortWithADownstreamPortForEachBelowIt) {
  const Loaded loaded(deep_host(1));
  const hwloc_obj_t upstream = loaded.os_device("cuda0")->parent->parent->parent;
  EXPECT_EQ(upstream->attr->bridge.depth, 2U);
  EXPECT_EQ(upstream->attr->bridge.upstream.pci.bus, 2);
  EXPECT_NEAR(upstream->attr->bridge.upstream.pci.linkspeed, 15.754, 1e-3);
  EXPECT_EQ(upstream->io_arity, 3U);
  EXPECT_EQ(upstream->parent->attr->bridge.depth, 1U);
  EXPECT_EQ(upstream->parent->parent->attr->bridge.upstream_type, HWLOC_OBJ_BRIDGE_HOST);
  const hwloc_obj_t next = loaded.os_device("cuda1")->parent->parent->parent;
  EXPECT_EQ(next->attr->bridge.depth, 4U);
  EXPECT_EQ(next->parent->parent, upstream);
  EXPECT_EQ(loaded.os_device("cuda2")->parent->parent->attr->bridge.depth, 0U);
}

TEST(HwlocXmlText, DevicesAreNamedAsHwlocNamesThem) {
  const Loaded loaded(eight_gpu_host());
  const hwloc_obj_t gpu = loaded.os_device("cuda3");
  EXPECT_EQ(gpu->attr->osdev.type, HWLOC_OBJ_OSDEV_COPROC);
  EXPECT_STREQ(hwloc_obj_get_info_by_name(gpu, "GPUModel"), "NVIDIA H100 80GB HBM3");
  EXPECT_STREQ(hwloc_obj_get_info_by_name(gpu, "CUDAGlobalMemorySize"), "83886080");
  EXPECT_EQ(gpu->parent->attr->pcidev.vendor_id, 0x10de);
  EXPECT_EQ(loaded.os_device("nvml3")->attr->osdev.type, HWLOC_OBJ_OSDEV_GPU);
  EXPECT_EQ(loaded.os_device("mlx5_3")->attr->osdev.type, HWLOC_OBJ_OSDEV_OPENFABRICS);
  EXPECT_EQ(loaded.os_device("ib3")->attr->osdev.type, HWLOC_OBJ_OSDEV_NETWORK);
  EXPECT_EQ(loaded.os_device("ib3")->parent->attr->pcidev.class_id, 0x0207);
  EXPECT_NE(Loaded(matrix_host()).os_device("cuda2"), nullptr)
      << "a GPU that hwloc has no name for";
}

TEST(HwlocXmlText, MemoryOfSeveralPackagesBelongsToTheMachine) {
  const Loaded loaded(odd_memory_host());
  ASSERT_EQ(loaded.count(HWLOC_OBJ_NUMANODE), 3);
  for (unsigned i = 0; i < 3; ++i)
    EXPECT_EQ(loaded.object(HWLOC_OBJ_NUMANODE, i)->parent, loaded.machine());
  EXPECT_STREQ(loaded.object(HWLOC_OBJ_NUMANODE, 1)->subtype, "HBM");
}

TEST(HwlocXmlText, LinksAreMatricesOfBandwidths) {
  HostModel host = small_host();
  host.links[0].mb_per_s = known(std::uint64_t{90000});
  host.links.push_back(
      {.gpu = 2, .end = LinkEnd::kPackage, .peer = 1, .mb_per_s = known(std::uint64_t{70000})});
  const Loaded loaded(finish(std::move(host), 0).value());
  const auto distances = loaded.distances("NVLinkBandwidth");
  ASSERT_NE(distances, nullptr) << loaded.text();
  ASSERT_EQ(distances->nbobjs, 4U);
  const auto value = [&](hwloc_obj_t a, hwloc_obj_t b) {
    hwloc_uint64_t there = 0, back = 0;
    EXPECT_EQ(hwloc_distances_obj_pair_values(distances.get(), a, b, &there, &back), 0);
    EXPECT_EQ(there, back);
    return there;
  };
  const hwloc_obj_t first = loaded.os_device("cuda0"), third = loaded.os_device("cuda2");
  EXPECT_EQ(value(first, loaded.os_device("cuda1")), 90000U);
  EXPECT_EQ(value(third, loaded.object(HWLOC_OBJ_PACKAGE, 1)), 70000U);
  EXPECT_EQ(value(first, third), 0U);
}

TEST(HwlocXmlText, SetsAreWordsTheHighestFirst) {
  EXPECT_EQ(hwloc_set_text({}), "0x00000000");
  EXPECT_EQ(hwloc_set_text(CpuSet::parse("0-3").value()), "0x0000000f");
  EXPECT_EQ(hwloc_set_text(CpuSet::parse("1,96").value()), "0x00000001,,,0x00000002");
}

TEST(HwlocXmlText, TellsWhatItLeavesOut) {
  HostModel host = finished_small_host();
  EXPECT_EQ(left_out_of_hwloc_xml(host).fields, std::vector<std::string>{"links.count"});
  host.links.push_back({.gpu = 2, .end = LinkEnd::kSwitch, .count = 18});
  host.nics[0].pci.bus = {};
  EXPECT_EQ(left_out_of_hwloc_xml(host).sentences,
            (std::vector<std::string>{
                "links to switches of 1 GPU are left out, because the addresses of the switches "
                "are not known",
                "1 NIC without a PCI address: only the names of devices are written",
                "hwloc's XML cannot state, and leaves out: 1 link count"}));
  host.links.clear();
  host.stated = {{.a = {DeviceKind::kGpu, 0}, .b = {DeviceKind::kGpu, 1}, .kind = PathKind::kPix}};
  EXPECT_EQ(left_out_of_hwloc_xml(host).sentences.front(),
            "paths of 1 pair of devices are left out, because hwloc's XML states bridges and "
            "links");
}

TEST(HwlocXmlText, TellsThatPartsAreWithheld) {
  HostModel host = finished_small_host();
  host.withheld = cpus("0,4-7");
  host.cpus = cpus("1-3");
  EXPECT_EQ(left_out_of_hwloc_xml(host).sentences.back(),
            "hwloc's XML cannot state, and leaves out: 1 link count, 2 partly withheld packages, "
            "2 partly withheld NUMA nodes and 5 withheld cores");
}

HostModel read_back(const HostModel& host) { return read_hwloc_text(hwloc_xml_text(host)).value(); }

TEST(HwlocXmlText, ReadersDropWhatHwlocWantsAndNoSourceStates) {
  HostModel host;
  host.gpus.push_back({.name = "cuda0", .names = {"cuda0"}});
  const HostModel again = read_back(finished(std::move(host)));
  EXPECT_TRUE(again.cpus.is_empty());
  EXPECT_TRUE(again.cores.empty());
  EXPECT_TRUE(again.numa_nodes.empty());
  EXPECT_FALSE(again.gpus.at(0).near.is_known());
}

TEST(HwlocXmlText, HasCoresOnlyWhereASourceStatesThem) {
  HostModel host = finished_small_host();
  host.cores.resize(2);
  EXPECT_EQ(read_back(host).cores.size(), 2U);
  const Loaded loaded(host);
  EXPECT_EQ(loaded.count(HWLOC_OBJ_CORE), 2);
  EXPECT_EQ(loaded.count(HWLOC_OBJ_PU), 8);
}

TEST(HwlocXmlText, KeepsTheKindsOfCores) {
  HostModel host = finished_small_host();
  host.cores[0].kind = known(std::string("IntelCore"));
  host.cores[1].kind = known(std::string("capacity 446"));
  EXPECT_EQ(read_back(host).cores, host.cores);
  const Loaded loaded(host);
  EXPECT_NE(loaded.text().find("<info name=\"LinuxCapacity\" value=\"446\" />"), std::string::npos);
}

// A node of both packages, a GPU near half of a node, and one of which nobody knows the place.
TEST(HwlocXmlText, KeepsPlacesThatAreNoObjects) {
  HostModel host = finished_small_host();
  host.gpus[0].near = known(Place{.cpus = cpus("1-2"), .numa_nodes = {0}});
  host.bridges[0].near = host.gpus[1].near = {};
  host.bridges[2].near = known(Place{.cpus = cpus("3-4"), .numa_nodes = {0, 1}});
  host.gpus[2].near = host.bridges[2].near;
  const HostModel again = read_back(host);
  for (std::size_t i = 0; i < host.gpus.size(); ++i)
    EXPECT_EQ(again.gpus[i].near, host.gpus[i].near) << i;
}

TEST(HwlocXmlText, KeepsTheProcessorAndFactsOfDevices) {
  HostModel host = finished_small_host();
  host.processor = known(Processor{"AuthenticAMD", 25, 17});
  host.gpus[0].uuid = known(std::string("GPU-1"));
  host.nics[0].kind = NicKind::kUnknown;
  host.bridges[1].bus = {};
  const HostModel again = read_back(host);
  EXPECT_EQ(again.processor, host.processor);
  EXPECT_EQ(again.gpus[0].uuid, host.gpus[0].uuid);
  EXPECT_EQ(again.nics[0].kind, NicKind::kUnknown);
  EXPECT_EQ(again.nics[0].rate_mbit, host.nics[0].rate_mbit);
  EXPECT_FALSE(again.bridges[1].bus.is_known()) << "the file has one that is made up";
}

TEST(HwlocXmlText, LinksWithoutARateComeBackWithoutOne) {
  const HostModel again = read_back(finished_small_host());
  ASSERT_EQ(again.links.size(), 1U);
  EXPECT_FALSE(again.links[0].mb_per_s.is_known());
}

TEST(HwlocXmlText, IsReadByHwlocOfRandomMachines) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const HostModel host = random_machine(seed);
    const Loaded loaded(host);
    EXPECT_EQ(loaded.count(HWLOC_OBJ_PU), std::max(host.cpus.count(), 1)) << "seed " << seed;
    const auto is_usable = [&](const Core& core) { return core.cpus.has_any(host.cpus); };
    EXPECT_EQ(loaded.count(HWLOC_OBJ_CORE), std::ranges::count_if(host.cores, is_usable)) << seed;
  }
}

}  // namespace
}  // namespace paceline::topology
