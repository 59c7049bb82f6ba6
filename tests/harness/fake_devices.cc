// The devices of a process.
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "tests/harness/fake_device.h"

namespace paceline::testing {

FakeDevices::FakeDevices(int devices, std::uint64_t seed) {
  for (int number = 0; number < devices; ++number)
    devices_.push_back(
        std::make_unique<FakeDevice>(number, seed * 1000 + static_cast<std::uint64_t>(number)));
}

FakeDevices::~FakeDevices() {
  static auto* const retired = new std::vector<std::unique_ptr<FakeDevice>>();
  static auto* const mutex = new std::mutex();
  const std::lock_guard lock(*mutex);
  for (auto& device : devices_) {
    device->retire();
    retired->push_back(std::move(device));
  }
}

Result<Device*> FakeDevices::device_of(const void* address) {
  for (const auto& device : devices_)
    if (device->owns(address)) return device.get();
  return nullptr;
}

Result<DeviceGroups*> FakeDevices::groups() {
  if (library_ != nullptr) return library_.get();
  return Status(Code::kUnavailable, Scope::kProcess, "fake devices have no library");
}

// The default stream is that of the first device.
Result<Device*> FakeDevices::device_of_stream(DeviceStream stream) {
  for (const auto& device : devices_)
    if (stream != nullptr && FakeDevice::of_stream(stream) == device.get()) return device.get();
  return devices_.front().get();
}

}  // namespace paceline::testing
