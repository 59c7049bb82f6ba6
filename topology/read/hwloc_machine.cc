#include "topology/read/hwloc_machine.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include <hwloc.h>

#include "comm/base/cgroup.h"
#include "comm/base/read_file.h"
#include "comm/base/text.h"
#include "comm/base/try.h"
#include "topology/read/hwloc_objects.h"
#include "topology/read/hwloc_xml.h"
#include "topology/read/named_text.h"
#include "topology/read/xml_document.h"

namespace paceline::topology {
namespace {

// A resource: variables of the environment as they are to be, until it goes.
class Environment final {
 public:
  Environment() = default;
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() {
    // Backwards: a variable may have been set twice.
    for (auto at = before_.rbegin(); at != before_.rend(); ++at) write(at->first, at->second);
  }

  // Without a value the variable is not there.
  void set(const char* name, const std::optional<std::string>& value) {
    const char* const before = std::getenv(name);
    before_.emplace_back(name,
                         before != nullptr ? std::optional<std::string>(before) : std::nullopt);
    write(name, value);
  }

 private:
  static void write(const char* name, const std::optional<std::string>& value) {
    if (value)
      ::setenv(name, value->c_str(), 1);
    else
      ::unsetenv(name);
  }

  std::vector<std::pair<const char*, std::optional<std::string>>> before_;
};

// What users set for other programs would have hwloc read something else.
void ask_hwloc_only_for(Environment& environment, const std::optional<std::string>& root) {
  for (const char* const name : {"HWLOC_XMLFILE", "HWLOC_SYNTHETIC", "HWLOC_CPUID_PATH",
                                 "HWLOC_FSROOT", "HWLOC_THISSYSTEM", "HWLOC_COMPONENTS"})
    environment.set(name, std::nullopt);
  environment.set("HWLOC_HIDE_ERRORS", "2");
  // Not even loaded: their libraries take longer than all the rest (load() says why they go).
  environment.set("HWLOC_PLUGINS_BLACKLIST",
                  "hwloc_gl.so,hwloc_opencl.so,hwloc_pci.so,hwloc_xml_libxml.so");
  // Memory of GPUs that the kernel shows as NUMA nodes: it says which PCI functions they are.
  environment.set("HWLOC_KEEP_NVIDIA_GPU_NUMA_NODES", "1");
  if (!root) return;
  environment.set("HWLOC_FSROOT", *root);
  environment.set("HWLOC_THISSYSTEM", "0");
  environment.set("HWLOC_COMPONENTS", "linux,stop");
  environment.set("HWLOC_DUMPED_HWDATA_DIR", "/var/run/hwloc");
}

struct Destroy {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, Destroy>;

Status failed(const std::string& name, const char* what) {
  return {Code::kUnavailable, Scope::kOperation, name + ": " + what + ": " + std::strerror(errno)};
}

Result<Topology> load(const std::string& name, unsigned long flags) {
  hwloc_topology_t made = nullptr;
  if (hwloc_topology_init(&made) != 0) return failed(name, "hwloc cannot be initialised");
  Topology topology(made);
  hwloc_topology_set_flags(made, flags);
  hwloc_topology_set_io_types_filter(made, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  // gl asks X servers for GPUs and waits for them, opencl loads drivers that keep threads and
  // memory, and neither numbers GPUs as programs do. Without pci, of which a kilobyte is lost at
  // each call, hwloc takes the same from sysfs, as it does from a tree.
  for (const char* const component : {"gl", "opencl", "pci"})
    hwloc_topology_set_components(made, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, component);
  if (hwloc_topology_load(made) != 0) return failed(name, "hwloc cannot read it");
  return topology;
}

Result<std::string> xml_of(const std::string& name, hwloc_topology* topology) {
  char* text = nullptr;
  int bytes = 0;
  if (hwloc_topology_export_xmlbuffer(topology, &text, &bytes, 0) != 0)
    return failed(name, "hwloc cannot describe it");
  // The count is with the zero at the end.
  std::string xml(text, static_cast<std::size_t>(bytes > 0 ? bytes - 1 : 0));
  hwloc_free_xmlbuffer(topology, text);
  return xml;
}

Result<std::string> describe(const std::string& name, const std::optional<std::string>& root,
                             unsigned long flags) {
  Environment environment;
  ask_hwloc_only_for(environment, root);
  PACELINE_TRY_ASSIGN(const Topology topology, load(name, flags));
  return xml_of(name, topology.get());
}

struct Described {
  HostModel host;
  std::string version;  // hwloc's, as far as it matters: " 2.9"
};

// There is one way from hwloc to the model.
Result<Described> read_text(const std::string& name, std::string xml) {
  PACELINE_TRY_ASSIGN(const auto document,
                      XmlDocument::parse({.name = name, .text = std::move(xml)}));
  PACELINE_TRY_ASSIGN(HostModel host, read_hwloc_xml(*document));
  std::string version = info_of(document->root().child("object"), "hwlocVersion");
  version.resize(std::min(version.rfind('.'), version.size()));
  if (!version.empty()) version.insert(0, 1, ' ');
  return Described{std::move(host), std::move(version)};
}

std::string mib_text(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

// The nodes' own memory and that of the whole machine come from different parts of the kernel. On
// virtual machines that get memory while they run, the nodes lag behind.
void compare_memory(const std::string& root, HostModel& host) {
  constexpr double kAlike = 0.9;  // the kernel keeps some for itself
  std::uint64_t all = 0;
  const std::string meminfo = read_file(root + "/proc/meminfo");
  for (const std::string_view line : split_words(meminfo, '\n')) {
    const auto words = split_words(line, ' ');
    if (words.size() >= 2 && words[0] == "MemTotal:")
      all = parse_number<std::uint64_t>(words[1]).value_or(0) * 1024;
  }
  std::uint64_t of_nodes = 0;
  for (const NumaNode& node : host.numa_nodes)
    if (node.kind != MemoryKind::kDevice) of_nodes += node.memory_bytes;
  if (of_nodes == 0 || static_cast<double>(of_nodes) >= kAlike * static_cast<double>(all)) return;
  host.warnings.push_back({.text = "NUMA nodes have " + mib_text(of_nodes) +
                                   " of memory, and /proc/meminfo says " + mib_text(all) +
                                   ": do not rely on the memory of single nodes"});
}

}  // namespace

Result<HostModel> read_live_machine() {
  const std::string name = "hwloc on this machine";
  PACELINE_TRY_ASSIGN(std::string xml,
                      describe(name, std::nullopt, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED));
  PACELINE_TRY_ASSIGN(Described described, read_text(name, std::move(xml)));
  described.host.sources.front() = "hwloc" + described.version + " on this machine";
  compare_memory("", described.host);
  return std::move(described.host);
}

Result<HostModel> read_sysfs_tree(const std::string& root) {
  std::error_code error;
  if (!std::filesystem::is_directory(root + "/sys/devices/system/cpu", error))
    return unreadable(root, 0, "this is not a copy of /sys: there is no sys/devices/system/cpu");
  const std::string name = "hwloc on " + root;
  PACELINE_TRY_ASSIGN(std::string xml, describe(name, root, 0));
  PACELINE_TRY_ASSIGN(Described described, read_text(name, std::move(xml)));
  described.host.sources.front() = name;
  compare_memory(root, described.host);
  return std::move(described.host);
}

}  // namespace paceline::topology
