// The part of hwloc's XML that is about CPUs and memory: Machine, Package, Group, caches, Core, PU
// and NUMANode, each with the sets that hwloc wants to be consistent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <pugixml.hpp>

#include "comm/base/cpu_set.h"
#include "topology/model/host_model.h"

namespace paceline::topology {

/// A new object with a number of its own. `next` counts them.
pugi::xml_node add_hwloc_object(pugi::xml_node parent, const char* type, int& next);
void set_attribute(pugi::xml_node object, const char* name, const std::string& value);
void add_hwloc_info(pugi::xml_node object, const char* name, const std::string& value);
/// hwloc's form of a set: words of 32 bits, the highest first, empty where they are zero.
std::string hwloc_set_text(const CpuSet& set);

/// Adds the elements <cpukind>, which stand after everything else.
void add_hwloc_core_kinds(const HostModel& host, pugi::xml_node topology);

/// Writes them and knows afterwards where devices hang. What is withheld stands in complete sets
/// alone. hwloc wants a CPU and memory: where no source states any, there is CPU 0, and one NUMA
/// node has all CPUs. Infos of the machine say so (hwloc_words.h).
class HwlocCpus final {
 public:
  HwlocCpus(const HostModel& host, pugi::xml_node topology, int& next);

  pugi::xml_node machine() const { return machine_; }
  /// Of places in the model; the machine where a package or a node is no object of its own.
  pugi::xml_node of_package(int place) const {
    return of_package_[static_cast<std::size_t>(place)];
  }
  pugi::xml_node of_node(int place) const { return of_node_[static_cast<std::size_t>(place)]; }
  /// What readers take for the place of a device at this object, which is the machine, a package,
  /// a node or a cache.
  Fact<Place> told_at(pugi::xml_node object) const;
  /// The cache whose CPUs alone are near; `otherwise` where there is none.
  pugi::xml_node nearest(const Fact<Place>& near, pugi::xml_node otherwise) const;

 private:
  enum Level : std::uint8_t { kPackageLevel, kNodeLevel, kCacheLevel, kCoreLevel };
  static constexpr std::size_t kLevels = 4;
  struct Part {
    pugi::xml_node object;
    CpuSet cpus;  // of the object, withheld ones too
  };

  void divide();
  void divide_nodes();
  template <class List>
  void claim(Level level, const List& list);
  bool caches_hold_nodes() const;

  void add_machine(pugi::xml_node topology, int made_up_node);
  void add_level(const Part& parent, const CpuSet& cpus, std::size_t depth);
  void add_part(const Part& parent, const CpuSet& cpus, std::size_t depth, int place);
  Part add_package(pugi::xml_node parent, const CpuSet& cpus, std::size_t place);
  void add_memory(pugi::xml_node parent, std::size_t node, const CpuSet& cpus);
  void add_cpus(const Part& parent, const CpuSet& cpus);
  Part add_cache(pugi::xml_node parent, const Cache& cache, const CpuSet& cpus);
  Part add_object(pugi::xml_node parent, const char* type, const CpuSet& cpus);
  void add_words_about_machine(int made_up_node);
  void set_attributes(pugi::xml_node object, const CpuSet& cpus, const CpuSet& nodes) const;
  CpuSet nodes_of(const CpuSet& cpus) const;

  const HostModel& host_;
  int& next_;
  CpuSet usable_, all_;
  std::vector<NumaNode> nodes_;                   // those of the model, or the one that is made up
  std::vector<Level> order_;                      // of the levels, from the outside in
  std::vector<int> owner_[kLevels];               // of each CPU: a place in the list of that level
  std::vector<std::vector<std::size_t>> beside_;  // of each node: memory of the same CPUs
  std::vector<std::size_t> at_machine_;  // nodes that no part of the machine has for itself
  pugi::xml_node machine_;
  std::vector<pugi::xml_node> of_package_, of_node_, of_cache_;
  std::map<pugi::xml_node, CpuSet> cpus_at_;  // of the objects at which devices may hang
};

}  // namespace paceline::topology
