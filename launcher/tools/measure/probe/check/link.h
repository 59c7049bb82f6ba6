// Connections of the probe's own between two hosts: what is measured is the way between them, and a
// way that is broken must not break the communicator over which the ranks agree.
//
// Both ends prove a key that only the ranks of this check have been told (comm/handshake.h), and a
// stranger's connection is closed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <paceline/status.h>

#include "comm/base/clock.h"
#include "comm/base/port_range.h"
#include "comm/base/unique_fd.h"
#include "comm/job_key.h"
#include "comm/socket.h"

namespace paceline::probe {

/// What a connection is for. Both ends name the same.
enum class LinkUse : std::uint32_t { kLatency, kFlow, kFlowBothWays };
struct LinkPurpose {
  std::uint32_t round = 0;
  std::int32_t from = 0;  ///< rank of who connects
  LinkUse use{};
};

/// Where others come in. One thread.
class LinkDoor {
 public:
  /// On one of `ports`, or on a port that the kernel chooses. `clock` is borrowed.
  static Result<LinkDoor> open(const std::string& address, const Clock& clock,
                               PortRange ports = {});
  int port() const { return port_; }

  /// The connection that was made for `purpose`; any other one is closed. Code::kTimeout where it
  /// does not come.
  Result<UniqueFd> accept(const JobKey& key, const LinkPurpose& purpose, Deadline deadline);

 private:
  LinkDoor(UniqueFd fd, int port, const Clock& clock)
      : fd_(std::move(fd)), port_(port), clock_(&clock) {}

  UniqueFd fd_;
  int port_;
  const Clock* clock_;
};

/// Returns once the other end has accepted it.
Result<UniqueFd> dial(const std::string& address, const JobKey& key, const LinkPurpose& purpose,
                      Deadline deadline, const Clock& clock);

/// Waits for one of poll's `events`; false when the deadline has passed.
bool wait_ready(int fd, short events, Deadline deadline, const Clock& clock);
/// All of `size` bytes, or an error.
Status send_all(int fd, const void* bytes, std::size_t size, Deadline deadline, const Clock& clock);
Status receive_all(int fd, void* bytes, std::size_t size, Deadline deadline, const Clock& clock);

}  // namespace paceline::probe
