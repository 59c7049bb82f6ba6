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

/// Writes to a TAP device or a packet socket. False: its buffers are full, so the caller may try
/// again. A device that is down loses the frame, as a wire does.
bool write_frame(const UniqueFd& device, std::string_view frame);

/// Frames that wait, and leave in the order in which they came.
class HeldFrames {
 public:
  static constexpr std::size_t kMaxBytes = 64u << 20;  ///< with the memory for each frame

  /// False: kMaxBytes wait already, so the frame is lost.
  bool hold(std::string_view frame, TimePoint due);
  /// Writes the frames that are due. False: the buffers of `device` are full, and a frame that is
  /// due still waits.
  bool let_go(TimePoint now, const UniqueFd& device);
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
