#include "tests/harness/device_hooks.h"

#include "tests/harness/fake_device.h"

using paceline::testing::FakeDevice;

bool standin_launch(void* stream, const std::function<bool()>& kernel) {
  FakeDevice* const device = FakeDevice::of_stream(stream);
  if (device != nullptr) device->launch_until(stream, kernel);
  return device != nullptr;
}

std::byte* standin_use(void* stream, const void* address, std::size_t bytes, const char* what) {
  return FakeDevice::of_stream(stream)->used_by_kernel(address, bytes, what);
}
