#include "comm/device/process_devices.h"

#include <string>

#include <dlfcn.h>
#include <link.h>

namespace paceline {
namespace {

constexpr const char* kDriver = "libcuda.so.1";
constexpr const char* kModule = "paceline_cuda.so";

unsigned long long libraries_loaded() {
  unsigned long long count = 0;
  // The count is the same in all entries, so the first is enough.
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* into) {
        *static_cast<unsigned long long*>(into) = info->dlpi_adds;
        return 1;
      },
      &count);
  return count;
}

// Of libpaceline, or of the program that it is linked into.
std::string own_folder() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&libraries_loaded), &info) == 0) return ".";
  const std::string file = info.dli_fname != nullptr ? info.dli_fname : "";
  const std::size_t slash = file.rfind('/');
  return slash == std::string::npos ? "." : file.substr(0, slash);
}

Status unavailable(const std::string& why) {
  return Status(Code::kUnavailable, Scope::kProcess,
                std::string("buffers in GPU memory need the module ") + kModule + ", " + why);
}

Result<Devices*> open_module() {
  std::string tried;
  for (const char* folder : {"", "/../lib"}) {
    const std::string path = own_folder() + folder + "/" + kModule;
    void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      tried += (tried.empty() ? "" : "; ") + std::string(::dlerror());
      continue;
    }
    const auto* const module =
        static_cast<const DeviceModule*>(::dlsym(library, kDeviceModuleSymbol));
    if (module == nullptr || module->version != DeviceModule::kVersion)
      return unavailable("and " + path + " is of another version of Paceline");
    std::string why;
    Devices* const devices = module->open(why);
    return devices != nullptr ? Result<Devices*>(devices)
                              : unavailable("which cannot use the driver: " + why);
  }
  return unavailable("which cannot be loaded: " + tried);
}

}  // namespace

ProcessDevices& ProcessDevices::of_process() {
  static ProcessDevices* const devices = new ProcessDevices();
  return *devices;
}

bool ProcessDevices::look_for_driver() {
  const unsigned long long loaded = libraries_loaded();
  if (loaded == libraries_seen_.load(std::memory_order_relaxed)) return false;
  void* const driver = ::dlopen(kDriver, RTLD_LAZY | RTLD_NOLOAD);
  libraries_seen_.store(loaded, std::memory_order_relaxed);
  if (driver == nullptr) return false;
  has_driver_.store(true, std::memory_order_release);  // and keeps it loaded
  return true;
}

Result<Devices*> ProcessDevices::open() {
  static const Result<Devices*> opened = open_module();
  return opened;
}

}  // namespace paceline
