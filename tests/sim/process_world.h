// Ranks that are real processes, over TCP on loopback or through shared memory, and can be killed
// and stopped.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include <paceline/communicator.h>

#include "comm/base/clock.h"
#include "comm/base/unique_fd.h"
#include "tests/sim/scenario.h"

namespace paceline::testing {

/// The ranks begin at once, and end at the latest with this object or with its process: nothing is
/// left behind. Make it before the process has threads.
class ProcessWorld {
 public:
  /// What a rank does, in its process; it returns what is reported.
  using Body = std::function<std::string(Communicator& world)>;

  enum class Over { kTcp, kSharedMemory };
  ProcessWorld(const Scenario& scenario, Over over, const Body& body);
  ~ProcessWorld();
  ProcessWorld(const ProcessWorld&) = delete;
  ProcessWorld& operator=(const ProcessWorld&) = delete;

  /// SIGKILL or SIGSTOP; the rank is not waited for any more.
  void strike(int rank, int signal);
  /// Collects reports until all ranks that were not struck have ended (true) or it is `until`.
  bool collect(TimePoint until);
  /// What the rank has reported so far; all of it once it has ended.
  const std::string& report(int rank) const;
  bool has_ended(int rank) const;

 private:
  struct Child {
    pid_t pid = -1;
    UniqueFd pipe;  // closed at its end of file
    std::string report;
    bool struck = false;
  };
  const Child& child(int rank) const { return children_[static_cast<std::size_t>(rank)]; }

  std::vector<Child> children_;  // indexed by rank
};

}  // namespace paceline::testing
