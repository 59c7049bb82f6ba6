#include "topology/read/nvml_library.h"

#include <array>

#include <dlfcn.h>

#include "comm/base/text.h"
#include "comm/base/try.h"

namespace paceline::topology {
namespace {

constexpr int kNotSupported = 3;  // as nvml.h has it

Status no_nvml(const std::string& why) { return {Code::kUnavailable, Scope::kOperation, why}; }

}  // namespace

Result<std::unique_ptr<NvmlLibrary>> NvmlLibrary::open(const std::string& library, int* error) {
  void* const handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return no_nvml(library + " cannot be loaded");
  std::unique_ptr<NvmlLibrary> nvml(new NvmlLibrary(handle));
  PACELINE_TRY(nvml->find_all(library));
  const int begun = nvml->calls_.init();
  nvml->begun_ = begun == kSuccess;
  if (error != nullptr) *error = begun;
  if (!nvml->begun_)
    return no_nvml(library + " finds no driver (error " + std::to_string(begun) + ")");
  return nvml;
}

NvmlLibrary::~NvmlLibrary() {
  if (begun_) calls_.shutdown();
  ::dlclose(handle_);
}

std::optional<std::string> NvmlLibrary::text(int (*call)(Device, char*, unsigned), Device device) {
  std::array<char, 96> text{};
  if (call(device, text.data(), static_cast<unsigned>(text.size() - 1)) != kSuccess)
    return std::nullopt;
  return printable(text.data());
}

template <class Function>
void NvmlLibrary::find(const char* name, Function*& into) {
  into = reinterpret_cast<Function*>(::dlsym(handle_, name));
  if (into == nullptr) missing_ = name;
}

// Topology needs none of these.
template <class... Arguments>
void NvmlLibrary::find_use(const char* name, int (*&into)(Arguments...)) {
  into = reinterpret_cast<int (*)(Arguments...)>(::dlsym(handle_, name));
  if (into == nullptr) into = [](Arguments...) { return kNotSupported; };
}

Status NvmlLibrary::find_all(const std::string& library) {
  find("nvmlInit_v2", calls_.init);
  find("nvmlShutdown", calls_.shutdown);
  find("nvmlDeviceGetCount_v2", calls_.count);
  find("nvmlDeviceGetHandleByIndex_v2", calls_.device);
  find("nvmlDeviceGetPciInfo_v3", calls_.pci);
  find("nvmlDeviceGetName", calls_.name);
  find("nvmlDeviceGetUUID", calls_.uuid);
  find("nvmlDeviceGetMemoryInfo", calls_.memory);
  find("nvmlDeviceGetNvLinkState", calls_.link_state);
  find("nvmlDeviceGetNvLinkVersion", calls_.link_version);
  find("nvmlDeviceGetNvLinkRemotePciInfo_v2", calls_.link_peer);
  find("nvmlDeviceGetNvLinkRemoteDeviceType", calls_.link_end);
  find_use("nvmlDeviceGetUtilizationRates", calls_.utilization);
  find_use("nvmlDeviceGetPowerUsage", calls_.power);
  find_use("nvmlDeviceGetClockInfo", calls_.clock);
  find_use("nvmlDeviceGetCurrentClocksThrottleReasons", calls_.clock_limits);
  find_use("nvmlDeviceGetTemperature", calls_.temperature);
  find_use("nvmlDeviceGetTotalEccErrors", calls_.ecc_errors);
  find_use("nvmlDeviceGetCurrPcieLinkWidth", calls_.pcie_lanes);
  find_use("nvmlDeviceGetMaxPcieLinkWidth", calls_.most_pcie_lanes);
  return missing_ == nullptr ? Status() : no_nvml(library + " has no function " + missing_);
}

}  // namespace paceline::topology
