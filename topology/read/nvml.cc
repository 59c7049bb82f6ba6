#include "topology/read/nvml.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "comm/base/try.h"
#include "topology/read/bounds.h"

namespace paceline::topology {
namespace {

using Device = NvmlLibrary::Device;
using Functions = NvmlLibrary::Functions;
using PciInfo = NvmlLibrary::PciInfo;
constexpr int kSuccess = NvmlLibrary::kSuccess;
constexpr unsigned kGpuEnd = 0, kCpuEnd = 1, kSwitchEnd = 2;

BusId bus_of(const PciInfo& info) {
  return {.domain = info.domain,
          .bus = static_cast<std::uint8_t>(info.bus),
          .device = static_cast<std::uint8_t>(info.device)};
}

Fact<std::string> text_of(int (*call)(Device, char*, unsigned), Device device) {
  auto text = NvmlLibrary::text(call, device);
  return text ? known(*std::move(text)) : Fact<std::string>();
}

Gpu gpu_of(const Functions& calls, Device device, int number) {
  const std::string name = "nvml" + std::to_string(number);
  Gpu gpu{.number = number, .name = name, .names = {name}};
  if (PciInfo info{}; calls.pci(device, &info) == kSuccess) {
    gpu.pci.bus = known(bus_of(info));
    gpu.pci.vendor = static_cast<std::uint16_t>(info.ids & 0xffff);
    gpu.pci.device = static_cast<std::uint16_t>(info.ids >> 16);
  }
  gpu.model = text_of(calls.name, device);
  gpu.uuid = text_of(calls.uuid, device);
  if (NvmlLibrary::Memory memory{}; calls.memory(device, &memory) == kSuccess)
    gpu.memory_bytes = known(std::uint64_t{memory.total});
  return gpu;
}

// MB/s each way of one link (NVIDIA's whitepapers of P100, V100, A100, H100 and B200).
std::uint64_t mb_per_s_of(unsigned version) {
  if (version <= 1) return 20000;
  return version <= 4 ? 25000 : 50000;
}

void add(HostModel& host, const GpuLink& link, std::uint64_t mb_per_s) {
  for (GpuLink& known : host.links) {
    if (known.gpu != link.gpu || known.end != link.end || known.peer != link.peer) continue;
    ++known.count;
    *known.mb_per_s.value += mb_per_s;
    return;
  }
  host.links.push_back(link);
  host.links.back().count = 1;
  host.links.back().mb_per_s = known(mb_per_s);
}

// Links between two GPUs are told by both: they count where the other has the higher number.
void add_link(HostModel& host, const Functions& calls, Device device, int gpu, unsigned link) {
  unsigned is_up = 0, version = 0, end = 0;
  PciInfo peer{};
  if (calls.link_state(device, link, &is_up) != kSuccess || is_up == 0) return;
  if (calls.link_version(device, link, &version) != kSuccess) version = 0;
  if (calls.link_end(device, link, &end) != kSuccess) end = kGpuEnd;
  const std::uint64_t mb_per_s = mb_per_s_of(version);
  if (end == kSwitchEnd) return add(host, {.gpu = gpu, .end = LinkEnd::kSwitch}, mb_per_s);
  // Which package it is, is for who knows the packages to say.
  if (end == kCpuEnd || calls.link_peer(device, link, &peer) != kSuccess) return;
  for (const Gpu& other : host.gpus) {
    if (other.number > gpu && other.pci.bus.is_known() && *other.pci.bus == bus_of(peer))
      add(host, {.gpu = gpu, .end = LinkEnd::kGpu, .peer = other.number}, mb_per_s);
  }
}

}  // namespace

Result<HostModel> read_nvml(const std::string& library) {
  PACELINE_TRY_ASSIGN(const std::unique_ptr<NvmlLibrary> nvml, NvmlLibrary::open(library));
  const Functions& calls = nvml->calls();
  unsigned count = 0;
  if (const int error = calls.count(&count); error != kSuccess || count > kMostGpus)
    return Status(Code::kUnavailable, Scope::kOperation,
                  library + " cannot count GPUs (error " + std::to_string(error) + ")");
  HostModel host{.sources = {"NVML"}};
  std::vector<Device> devices;
  for (unsigned i = 0; i < count; ++i) {
    Device device = nullptr;
    if (calls.device(i, &device) != kSuccess) {
      host.warnings.push_back({"GPU " + std::to_string(i) + " cannot be opened by NVML", 0});
      continue;
    }
    devices.push_back(device);
    host.gpus.push_back(gpu_of(calls, device, static_cast<int>(host.gpus.size())));
  }
  for (std::size_t i = 0; i < devices.size(); ++i)
    for (unsigned link = 0; link < kMostNvlinks; ++link)
      add_link(host, calls, devices[i], static_cast<int>(i), link);
  return host;
}

}  // namespace paceline::topology
