// Names of abstract Unix sockets that no other test uses, in this process or another.
#pragma once

#include <atomic>
#include <string>

#include <unistd.h>

namespace paceline::testing {

/// "@paceline-test-4711-1"
inline std::string fresh_socket_name() {
  static std::atomic<int> counter{0};
  return "@paceline-test-" + std::to_string(::getpid()) + "-" + std::to_string(++counter);
}

}  // namespace paceline::testing
