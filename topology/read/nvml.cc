#include "topology/read/nvml.h"

#include <array>
#include <cstdint>
#include <memory>
#include <utility>

#include <dlfcn.h>

#include "comm/base/text.h"
#include "comm/base/try.h"
#include "topology/read/bounds.h"

namespace paceline::topology {
namespace {

// As of NVML API 11 (docs.nvidia.com/deploy/nvml-api); its header is no package of Debian. Only
// functions that have been there unchanged since are called.
using Device = void*;
constexpr int kSuccess = 0;
constexpr unsigned kMostNvlinks = 36;
constexpr unsigned kGpuEnd = 0, kCpuEnd = 1, kSwitchEnd = 2;

struct PciInfo {
  char legacy_bus[16];
  unsigned domain, bus, device;
  unsigned ids;  // device in the upper half, vendor in the lower
  unsigned subsystem_ids;
  char text[32];
};

struct Memory {
  unsigned long long total, free, used;
};

struct Functions {
  int (*init)();
  int (*shutdown)();
  int (*count)(unsigned*);
  int (*device)(unsigned, Device*);
  int (*pci)(Device, PciInfo*);
  int (*name)(Device, char*, unsigned);
  int (*uuid)(Device, char*, unsigned);
  int (*memory)(Device, Memory*);
  int (*link_state)(Device, unsigned, unsigned*);
  int (*link_version)(Device, unsigned, unsigned*);
  int (*link_peer)(Device, unsigned, PciInfo*);
  int (*link_end)(Device, unsigned, unsigned*);
};

Status unavailable(const std::string& why) { return {Code::kUnavailable, Scope::kOperation, why}; }

// The library, open and begun while it lives.
class Nvml final {
 public:
  static Result<std::unique_ptr<Nvml>> open(const std::string& library) {
    void* const handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return unavailable(library + " cannot be loaded");
    std::unique_ptr<Nvml> nvml(new Nvml(handle));
    PACELINE_TRY(nvml->find_all(library));
    const int error = nvml->calls.init();
    nvml->begun_ = error == kSuccess;
    if (!nvml->begun_)
      return unavailable(library + " finds no driver (error " + std::to_string(error) + ")");
    return nvml;
  }
  ~Nvml() {
    if (begun_) calls.shutdown();
    ::dlclose(handle_);
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  Functions calls{};

 private:
  explicit Nvml(void* handle) : handle_(handle) {}

  template <class Function>
  void find(const char* name, Function*& into) {
    into = reinterpret_cast<Function*>(::dlsym(handle_, name));
    if (into == nullptr) missing_ = name;
  }

  Status find_all(const std::string& library) {
    find("nvmlInit_v2", calls.init);
    find("nvmlShutdown", calls.shutdown);
    find("nvmlDeviceGetCount_v2", calls.count);
    find("nvmlDeviceGetHandleByIndex_v2", calls.device);
    find("nvmlDeviceGetPciInfo_v3", calls.pci);
    find("nvmlDeviceGetName", calls.name);
    find("nvmlDeviceGetUUID", calls.uuid);
    find("nvmlDeviceGetMemoryInfo", calls.memory);
    find("nvmlDeviceGetNvLinkState", calls.link_state);
    find("nvmlDeviceGetNvLinkVersion", calls.link_version);
    find("nvmlDeviceGetNvLinkRemotePciInfo_v2", calls.link_peer);
    find("nvmlDeviceGetNvLinkRemoteDeviceType", calls.link_end);
    return missing_ == nullptr ? Status() : unavailable(library + " has no function " + missing_);
  }

  void* handle_;
  const char* missing_ = nullptr;
  bool begun_ = false;
};

BusId bus_of(const PciInfo& info) {
  return {.domain = info.domain,
          .bus = static_cast<std::uint8_t>(info.bus),
          .device = static_cast<std::uint8_t>(info.device)};
}

template <class Call>
Fact<std::string> text_of(Call call, Device device) {
  std::array<char, 96> text{};
  if (call(device, text.data(), static_cast<unsigned>(text.size() - 1)) != kSuccess) return {};
  return known(printable(text.data()));
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
  if (Memory memory{}; calls.memory(device, &memory) == kSuccess)
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
  PACELINE_TRY_ASSIGN(const std::unique_ptr<Nvml> nvml, Nvml::open(library));
  const Functions& calls = nvml->calls;
  unsigned count = 0;
  if (const int error = calls.count(&count); error != kSuccess || count > kMostGpus)
    return unavailable(library + " cannot count GPUs (error " + std::to_string(error) + ")");
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
