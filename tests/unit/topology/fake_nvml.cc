// A management library of three GPUs, for a machine that has none. GPU 0 and GPU 1 have four links
// between them, of which one is down; GPU 0 and GPU 2 have two to a switch. GPU 1 has 8 of 16 PCIe
// lanes, and two uncorrected errors of memory. GPU 2 has no memory to tell of, and tells nothing of
// its use but its power. Variables:
//
//   PACELINE_FAKE_NVML_HANGS    the driver never answers
//   PACELINE_FAKE_NVML_CRASHES  the process ends
//   PACELINE_FAKE_NVML_ERROR    the error at the start
//   PACELINE_FAKE_NVML_LOST     GPU 1 cannot be reached
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <unistd.h>

namespace {

struct PciInfo {
  char legacy_bus[16];
  unsigned domain, bus, device, ids, subsystem_ids;
  char text[32];
};
struct Memory {
  unsigned long long total, free, used;
};
struct Utilization {
  unsigned gpu, memory;
};

constexpr unsigned kGpus = 3, kGpuEnd = 0, kSwitchEnd = 2;
constexpr int kSuccess = 0, kInvalid = 2, kNotSupported = 3, kLost = 15;

int numbers[kGpus] = {0, 1, 2};
int number_of(void* device) { return *static_cast<int*>(device); }

struct Link {
  bool is_up;
  unsigned end;
  int peer;
};
bool find_link(int gpu, unsigned link, Link& into) {
  if (gpu < 2 && link < 4) return into = {link != 3, kGpuEnd, 1 - gpu}, true;
  if (gpu != 1 && link >= 4 && link < 6) return into = {true, kSwitchEnd, -1}, true;
  return false;
}

void fill(PciInfo* info, unsigned bus) {
  std::memset(info, 0, sizeof *info);
  info->bus = bus;
  info->ids = 0x20b510deU;
  std::snprintf(info->text, sizeof info->text, "00000000:%02X:00.0", bus);
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
  while (std::getenv("PACELINE_FAKE_NVML_HANGS") != nullptr) ::pause();
  if (std::getenv("PACELINE_FAKE_NVML_CRASHES") != nullptr) ::_exit(3);
  const char* const error = std::getenv("PACELINE_FAKE_NVML_ERROR");
  return error != nullptr ? std::atoi(error) : kSuccess;
}
int nvmlShutdown() { return kSuccess; }
int nvmlDeviceGetCount_v2(unsigned* count) { return *count = kGpus, kSuccess; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (index == 1 && std::getenv("PACELINE_FAKE_NVML_LOST") != nullptr) return kLost;
  return index < kGpus ? (*device = &numbers[index], kSuccess) : kInvalid;
}
int nvmlDeviceGetPciInfo_v3(void* device, PciInfo* info) {
  return fill(info, 3 + static_cast<unsigned>(number_of(device))), kSuccess;
}
int nvmlDeviceGetName(void*, char* name, unsigned length) {
  return std::snprintf(name, length, "NVIDIA Test"), kSuccess;
}
int nvmlDeviceGetUUID(void* device, char* uuid, unsigned length) {
  return std::snprintf(uuid, length, "GPU-%d", number_of(device)), kSuccess;
}
int nvmlDeviceGetMemoryInfo(void* device, Memory* memory) {
  if (number_of(device) == 2) return kNotSupported;
  *memory = {.total = 1U << 30, .free = 3U << 28, .used = 1U << 28};
  return kSuccess;
}
int nvmlDeviceGetUtilizationRates(void* device, Utilization* use) {
  if (number_of(device) == 2) return kNotSupported;
  *use = {.gpu = number_of(device) == 1 ? 87U : 12U, .memory = 5};
  return kSuccess;
}
int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) { return *milliwatts = 251500, kSuccess; }
int nvmlDeviceGetClockInfo(void* device, unsigned kind, unsigned* megahertz) {
  if (number_of(device) == 2 || kind != 1) return kInvalid;
  return *megahertz = 1410, kSuccess;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* reasons) {
  if (number_of(device) == 2) return kNotSupported;
  return *reasons = number_of(device) == 1 ? 0x4 : 0x1, kSuccess;  // power; idle
}
int nvmlDeviceGetTemperature(void* device, unsigned sensor, unsigned* celsius) {
  if (number_of(device) == 2 || sensor != 0) return kInvalid;
  return *celsius = 61, kSuccess;
}
int nvmlDeviceGetTotalEccErrors(void* device, unsigned kind, unsigned period,
                                unsigned long long* count) {
  if (number_of(device) == 2) return kNotSupported;
  if (period == 0) return *count = kind == 1 && number_of(device) == 1 ? 2 : 0, kSuccess;
  return *count = kind == 0 ? 3 : 0, kSuccess;
}
int nvmlDeviceGetCurrPcieLinkWidth(void* device, unsigned* lanes) {
  if (number_of(device) == 2) return kNotSupported;
  return *lanes = number_of(device) == 1 ? 8 : 16, kSuccess;
}
int nvmlDeviceGetMaxPcieLinkWidth(void*, unsigned* lanes) { return *lanes = 16, kSuccess; }
int nvmlDeviceGetNvLinkState(void* device, unsigned link, unsigned* is_up) {
  Link found{};
  if (!find_link(number_of(device), link, found)) return kInvalid;
  return *is_up = found.is_up ? 1 : 0, kSuccess;
}
int nvmlDeviceGetNvLinkVersion(void*, unsigned, unsigned* version) {
  return *version = 3, kSuccess;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void* device, unsigned link, PciInfo* info) {
  Link found{};
  if (!find_link(number_of(device), link, found)) return kInvalid;
  return fill(info, found.peer < 0 ? 0x77 : 3 + static_cast<unsigned>(found.peer)), kSuccess;
}
int nvmlDeviceGetNvLinkRemoteDeviceType(void* device, unsigned link, unsigned* end) {
  Link found{};
  if (!find_link(number_of(device), link, found)) return kInvalid;
  return *end = found.end, kSuccess;
}

}  // extern "C"
