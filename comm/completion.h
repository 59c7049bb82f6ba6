// The end of an operation, shared between the operation and the handles on it.
#pragma once

#include <atomic>

#include <paceline/status.h>

namespace paceline {

/// Ends exactly once. `status` is written before `ended` becomes true and never again.
struct Completion {
  std::atomic<bool> ended{false};
  Status status;

  void end(Status how) {
    status = std::move(how);
    ended.store(true, std::memory_order_release);
  }
  bool has_ended() const { return ended.load(std::memory_order_acquire); }
};

}  // namespace paceline
