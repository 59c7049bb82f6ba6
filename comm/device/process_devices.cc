#include "comm/device/process_devices.h"

#include <cstdint>
#include <string>

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

namespace paceline {
namespace {

constexpr const char* kDriver = "libcuda.so.1";
constexpr const char* kModule = "paceline_cuda.so";

unsigned long long libraries_loaded() {
  unsigned long long count = 0;
  // All entries have the same count, so the first is enough.
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* into) {
        *static_cast<unsigned long long*>(into) = info->dlpi_adds;
        return 1;
      },
      &count);
  return count;
}

std::string folder_of(const std::string& file) {
  const std::size_t slash = file.rfind('/');
  return slash == std::string::npos ? "." : file.substr(0, slash);
}

// The folder of libpaceline, or of the program that it is linked into.
std::string own_folder() {
  Dl_info info{};
  link_map* library = nullptr;
  (void)::dladdr1(reinterpret_cast<const void*>(&libraries_loaded), &info,
                  reinterpret_cast<void**>(&library), RTLD_DL_LINKMAP);
  // A program has no name there.
  if (library != nullptr && library->l_name[0] != '\0') return folder_of(library->l_name);
  char path[4096];
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
  return folder_of({path, length > 0 ? static_cast<std::size_t>(length) : 0});
}

Status unavailable(const std::string& why) {
  return Status(Code::kUnavailable, Scope::kProcess,
                std::string("buffers in GPU memory need the module ") + kModule + ", " + why);
}

Result<Devices*> open_module() {
  std::string tried;
  // Beside libpaceline, or as seen from a program, in an installation and in a build.
  for (const char* folder : {"", "/../" PACELINE_LIBRARY_FOLDER, "/../lib"}) {
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

bool ProcessDevices::is_on_device(const void* address) const {
  constexpr int kMemoryType = 2;
  constexpr unsigned kDeviceMemory = 2;
  using Attribute = int (*)(void*, int, std::uintptr_t);
  static const auto attribute = reinterpret_cast<Attribute>(
      ::dlsym(::dlopen(kDriver, RTLD_LAZY | RTLD_NOLOAD), "cuPointerGetAttribute"));
  unsigned type = 0;
  return attribute != nullptr &&
         attribute(&type, kMemoryType, reinterpret_cast<std::uintptr_t>(address)) == 0 &&
         type == kDeviceMemory;
}

Result<Devices*> ProcessDevices::open_with_driver() {
  if (::dlopen(kDriver, RTLD_LAZY) == nullptr)
    return Status(Code::kUnavailable, Scope::kProcess, ::dlerror());
  return open();
}

Result<Devices*> ProcessDevices::open() {
  static const Result<Devices*> opened = open_module();
  return opened;
}

}  // namespace paceline
