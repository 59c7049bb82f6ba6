// Descriptions of machines: XML of hwloc and NCCL, matrices, JSON. What is accepted can be written
// in every form, says the same when its JSON is read again, and has a path between any two of its
// devices; what is refused names the file.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "comm/base/assert.h"
#include "topology/path/path.h"
#include "topology/read/merge.h"
#include "topology/read/model_json.h"
#include "topology/read/read_host.h"
#include "topology/render/render.h"

namespace paceline::topology {
namespace {

constexpr const char* kFile = "machine";
constexpr std::size_t kMaxErrorBytes = 4096;  // whatever the file holds
constexpr std::size_t kMostDevices = 8;       // between which paths are looked for

std::vector<DeviceRef> some_devices(const HostModel& host) {
  std::vector<DeviceRef> devices;
  for (std::size_t i = 0; i < host.gpus.size() && i < kMostDevices; ++i)
    devices.push_back({DeviceKind::kGpu, static_cast<int>(i)});
  for (std::size_t i = 0; i < host.nics.size() && i < kMostDevices; ++i)
    devices.push_back({DeviceKind::kNic, static_cast<int>(i)});
  return devices;
}

void check_paths(const HostModel& host) {
  for (const DeviceRef a : some_devices(host)) {
    for (const DeviceRef b : some_devices(host)) {
      const Path path = path_between(host, a, b);
      PACELINE_ASSERT(path.kind == path_between(host, b, a).kind);
      PACELINE_ASSERT((path.kind == PathKind::kLoc) == (a == b) || !host.stated.empty());
    }
  }
}

void check_forms(const HostModel& host) {
  const Result<HostModel> again = read_model_json({kFile, model_json_text(host)});
  PACELINE_ASSERT(again.ok() && same_machine(*again, host));
  PACELINE_ASSERT(!tree_text(host, 80).empty());
  PACELINE_ASSERT(!dot_text(host).empty() && !svg_text(host).empty());
  PACELINE_ASSERT(!matrix_text(host).empty() && !hwloc_xml_text(host).empty());
  PACELINE_ASSERT(!nccl_xml_text(host).empty());
  const Result<HostModel> merged = merge(host, host);
  PACELINE_ASSERT(merged.ok() && same_machine(*merged, host));
}

}  // namespace
}  // namespace paceline::topology

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace paceline::topology;
  const auto host = read_host_text({kFile, std::string(data, data + size)});
  if (!host.ok()) {
    PACELINE_ASSERT(host.status().code() == paceline::Code::kInvalidArgument);
    PACELINE_ASSERT(host.status().text().starts_with(kFile));
    PACELINE_ASSERT(host.status().text().size() < kMaxErrorBytes);
    return 0;
  }
  check_paths(*host);
  check_forms(*host);
  return 0;
}
