// TAP devices (Linux Documentation/networking/tuntap.rst), and frames that wait on their way from
// one device to another. Kernels often have no netem, and this needs nothing of tc.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include <paceline/status.h>

#include "comm/base/clock.h"
#include "comm/base/unique_fd.h"

namespace paceline::launcher {

inline constexpr const char* kTunFile = "/dev/net/tun";

/// Makes a device in this network namespace; it is down. It lasts as long as its descriptor, which
/// does not block. The kernel replaces "%d" in `name` by a number.
Result<UniqueFd> make_tap(const std::string& name);

using FrameBuffer = std::array<char, 64 * 1024>;

/// Reads a frame into `buffer`. Empty: there is none now.
std::string_view read_frame(const UniqueFd& device, FrameBuffer& buffer);

/// Writes to a TAP device or a packet socket. A device that is down, or whose queue is full, loses
/// the frame, as a wire does.
void write_frame(const UniqueFd& device, std::string_view frame);

/// Frames that wait, and leave in the order in which they came. At most 64 MiB; more are lost.
class HeldFrames {
 public:
  void hold(std::string_view frame, TimePoint due);
  void let_go(TimePoint now, const UniqueFd& device);
  /// When the first frame leaves.
  std::optional<TimePoint> next_due() const;

 private:
  struct Held {
    TimePoint due;
    std::string bytes;
  };
  std::deque<Held> held_;
  std::size_t bytes_ = 0;
};

}  // namespace paceline::launcher
