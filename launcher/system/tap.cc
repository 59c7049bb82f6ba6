#include "launcher/system/tap.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "launcher/system/system.h"

namespace paceline::launcher {

Result<UniqueFd> make_tap(const std::string& name) {
  UniqueFd tap(::open(kTunFile, O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!tap) return system_error("open " + std::string(kTunFile));
  ifreq request{};
  std::strncpy(request.ifr_name, name.c_str(), IFNAMSIZ - 1);
  request.ifr_flags = IFF_TAP | IFF_NO_PI;
  if (::ioctl(tap.get(), TUNSETIFF, &request) != 0) return system_error("make the device " + name);
  return tap;
}

std::string_view read_frame(const UniqueFd& device, FrameBuffer& buffer) {
  const ssize_t got = ::read(device.get(), buffer.data(), buffer.size());
  return {buffer.data(), got > 0 ? static_cast<std::size_t>(got) : 0};
}

bool write_frame(const UniqueFd& device, std::string_view frame) {
  const ssize_t written = ::write(device.get(), frame.data(), frame.size());
  return written >= 0 || (errno != EAGAIN && errno != ENOBUFS);
}

bool HeldFrames::hold(std::string_view frame, TimePoint due) {
  const std::size_t more = sizeof(Held) + frame.size();
  if (bytes_ + more > kMaxBytes) return false;
  bytes_ += more;
  held_.push_back({.due = due, .bytes = std::string(frame)});
  return true;
}

bool HeldFrames::let_go(TimePoint now, const UniqueFd& device) {
  for (; !held_.empty() && held_.front().due <= now; held_.pop_front()) {
    if (!write_frame(device, held_.front().bytes)) return false;
    bytes_ -= sizeof(Held) + held_.front().bytes.size();
  }
  return true;
}

std::optional<TimePoint> HeldFrames::next_due() const {
  return held_.empty() ? std::nullopt : std::optional(held_.front().due);
}

}  // namespace paceline::launcher
