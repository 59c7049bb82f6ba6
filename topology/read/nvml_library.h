// NVIDIA's management library, loaded at run time. As of NVML API 11
// (docs.nvidia.com/deploy/nvml-api); its header is no package of Debian. Only functions that have
// been there unchanged since are called.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <paceline/status.h>

namespace paceline::topology {

inline constexpr const char* kNvmlLibrary = "libnvidia-ml.so.1";

/// The library, open and begun while this lives. Calls into a driver may take long, or never
/// return.
class NvmlLibrary final {
 public:
  /// kUnavailable where the library is not there or finds no driver, which is so on any machine
  /// without such a GPU. `error`: NVML's, if the library is there, and its start has failed.
  static Result<std::unique_ptr<NvmlLibrary>> open(const std::string& library = kNvmlLibrary,
                                                   int* error = nullptr);
  ~NvmlLibrary();
  NvmlLibrary(const NvmlLibrary&) = delete;
  NvmlLibrary& operator=(const NvmlLibrary&) = delete;

  using Device = void*;
  static constexpr int kSuccess = 0;
  static constexpr int kNoPermission = 4, kNoDriver = 9, kGpuIsLost = 15;

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
  struct Utilization {
    unsigned gpu, memory;  // percent
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
    int (*utilization)(Device, Utilization*);
    int (*power)(Device, unsigned* milliwatts);
    int (*clock)(Device, unsigned kind, unsigned* megahertz);
    int (*clock_limits)(Device, unsigned long long* reasons);
    int (*temperature)(Device, unsigned sensor, unsigned* celsius);
    int (*ecc_errors)(Device, unsigned kind, unsigned period, unsigned long long* count);
    int (*pcie_lanes)(Device, unsigned* now);
    int (*most_pcie_lanes)(Device, unsigned*);
  };
  /// A function that the library lacks says that it is not supported, if reading use needs it.
  const Functions& calls() const { return calls_; }
  /// Its text, printable. None: the driver does not tell.
  static std::optional<std::string> text(int (*call)(Device, char*, unsigned), Device device);

 private:
  explicit NvmlLibrary(void* handle) : handle_(handle) {}
  template <class Function>
  void find(const char* name, Function*& into);
  template <class... Arguments>
  void find_use(const char* name, int (*&into)(Arguments...));
  Status find_all(const std::string& library);

  void* const handle_;
  Functions calls_{};
  const char* missing_ = nullptr;
  bool begun_ = false;
};

/// The call writes this value to its last argument. None: the driver does not tell it.
template <class Value, class Call>
std::optional<Value> told_by(Call call) {
  Value value{};
  return call(&value) == NvmlLibrary::kSuccess ? std::optional(value) : std::nullopt;
}

}  // namespace paceline::topology
