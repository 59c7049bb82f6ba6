// Bodies of ranks with fake devices, which several suites run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "comm/base/try.h"
#include "tests/harness/ranks.h"

namespace paceline::testing {

using Library = RunOptions::Library;

// So short that most operations need several rounds.
inline constexpr std::size_t kSlotBytes = 1024;

using DeviceBody = std::function<Status(Communicator&, FakeDevice&)>;

// Returns the first error of a rank.
inline Status run_on_devices(RunOptions options, const DeviceBody& body) {
  options.segment_bytes = 512;
  options.devices = 2;
  options.device_slot_bytes = kSlotBytes;
  return run_ranks(options, [&](Communicator& world) -> Status {
    FakeDevice& device = devices_of(world).device(0);
    PACELINE_TRY(body(world, device));
    const std::string broken = device.broken();
    return broken.empty() ? Status() : wrong(broken);
  });
}

inline Status run_simulated(int ranks, std::uint64_t seed, Duration timeout,
                            const DeviceBody& body) {
  return run_on_devices({.ranks = ranks, .seed = seed, .timeout = timeout}, body);
}

inline Status run_with_nccl(int ranks, Duration timeout, const DeviceBody& body) {
  return run_on_devices({.ranks = ranks, .timeout = timeout, .device_library = Library::kNccl},
                        body);
}

inline Status expect(const Status& error, Code code, const std::string& text) {
  if (error.code() == code && error.text().find(text) != std::string::npos) return {};
  return wrong("this is not the expected error: " + error.to_string());
}

}  // namespace paceline::testing
