// The devices of this process. A device pointer exists only in a process that has loaded the
// device's driver. So a program without a GPU loads nothing: it only looks, at each call, whether
// libraries have been loaded since the last look.
#pragma once

#include <atomic>

#include <paceline/status.h>

#include "comm/device/device.h"

namespace paceline {

class ProcessDevices {
 public:
  /// The process's own. It is never destroyed.
  static ProcessDevices& of_process();

  ProcessDevices() = default;
  ProcessDevices(const ProcessDevices&) = delete;
  ProcessDevices& operator=(const ProcessDevices&) = delete;

  /// Has this process loaded a driver? It only looks at a counter of the dynamic linker.
  bool has_driver() { return has_driver_.load(std::memory_order_acquire) || look_for_driver(); }
  /// Loads the module at the first call after has_driver(). An error says why that is impossible:
  /// Code::kUnavailable.
  Result<Devices*> open();
  /// Does the driver call this device memory? For a process in which open() has failed.
  bool is_on_device(const void* address) const;
  /// Loads the driver, too, if there is one. For `paceline info`.
  Result<Devices*> open_with_driver();

 private:
  bool look_for_driver();

  std::atomic<bool> has_driver_{false};
  std::atomic<unsigned long long> libraries_seen_{0};  // loaded so far, at the last look
};

}  // namespace paceline
