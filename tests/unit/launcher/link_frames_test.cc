// Frames on their way from one device to another: system/tap.h, system/egress_redirect.h.
#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/if_ether.h>
#include <sys/socket.h>

#include "launcher/system/egress_redirect.h"
#include "launcher/system/tap.h"

namespace paceline::launcher {
namespace {

TimePoint at(int milliseconds) { return TimePoint(std::chrono::milliseconds(milliseconds)); }

// A device that keeps the frames that are written to it, until its buffers are full.
class Device {
 public:
  Device() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()),
              0);
    near_ = UniqueFd(ends[0]);
    far_ = UniqueFd(ends[1]);
  }
  const UniqueFd& fd() const { return near_; }
  // The frames that have left since the last call.
  std::vector<std::string> frames() {
    std::vector<std::string> all;
    for (std::string_view one; !(one = read_frame(far_, buffer_)).empty();) all.emplace_back(one);
    return all;
  }

 private:
  UniqueFd near_, far_;
  FrameBuffer buffer_;
};

using Frames = std::vector<std::string>;

TEST(HeldFrames, LeaveWhenTheyAreDue) {
  Device device;
  HeldFrames held;
  EXPECT_EQ(held.next_due(), std::nullopt);
  EXPECT_TRUE(held.hold("a", at(20)));
  EXPECT_TRUE(held.hold("b", at(30)));
  EXPECT_EQ(held.next_due(), at(20));
  EXPECT_TRUE(held.let_go(at(19), device.fd()));
  EXPECT_EQ(device.frames(), Frames{});
  EXPECT_TRUE(held.let_go(at(20), device.fd()));
  EXPECT_EQ(device.frames(), Frames{"a"});
  EXPECT_EQ(held.next_due(), at(30));
  EXPECT_TRUE(held.let_go(TimePoint::max(), device.fd()));
  EXPECT_EQ(device.frames(), Frames{"b"});
  EXPECT_EQ(held.next_due(), std::nullopt);
}

TEST(HeldFrames, KeepTheirOrderIfALaterOneHasAShorterDelay) {
  Device device;
  HeldFrames held;
  EXPECT_TRUE(held.hold("slow", at(30)));
  EXPECT_TRUE(held.hold("fast", at(10)));
  EXPECT_TRUE(held.let_go(at(20), device.fd()));
  EXPECT_EQ(device.frames(), Frames{});
  EXPECT_TRUE(held.let_go(at(30), device.fd()));
  EXPECT_EQ(device.frames(), (Frames{"slow", "fast"}));
}

TEST(HeldFrames, HaveABound) {
  Device device;
  HeldFrames held;
  const std::string frame(60'000, 'x');
  std::size_t number = 0;
  while (number * frame.size() <= HeldFrames::kMaxBytes && held.hold(frame, at(0))) ++number;
  EXPECT_LE(number * frame.size(), HeldFrames::kMaxBytes);
  EXPECT_GT(number * frame.size(), HeldFrames::kMaxBytes / 10 * 9);
  EXPECT_FALSE(held.hold(frame, at(0)));
  held.let_go(at(0), device.fd());
  EXPECT_TRUE(held.hold(frame, at(0))) << "some have left";
}

TEST(HeldFrames, ShortOnesHaveABoundToo) {
  HeldFrames held;
  std::size_t number = 0;
  while (number <= HeldFrames::kMaxBytes / 16 && held.hold("x", at(0))) ++number;
  EXPECT_LE(number, HeldFrames::kMaxBytes / 16);
}

TEST(HeldFrames, WaitWhileTheDeviceTakesNoMore) {
  Device device;
  HeldFrames held;
  Frames sent;
  for (int i = 0; i < 2000; ++i) {
    sent.push_back(std::string(1000, 'x') + std::to_string(i));
    ASSERT_TRUE(held.hold(sent.back(), at(i)));
  }
  EXPECT_FALSE(held.let_go(at(2000), device.fd()));
  Frames came = device.frames();
  EXPECT_LT(came.size(), sent.size());
  EXPECT_EQ(held.next_due(), at(static_cast<int>(came.size())));
  for (bool all = false; !all;) {
    all = held.let_go(at(2000), device.fd());
    const Frames more = device.frames();
    ASSERT_FALSE(more.empty());
    came.insert(came.end(), more.begin(), more.end());
  }
  EXPECT_EQ(came, sent);
}

TEST(HeldFrames, AreLostIfTheDeviceIsDown) {
  HeldFrames held;
  EXPECT_TRUE(held.hold("a", at(0)));
  EXPECT_TRUE(held.let_go(at(0), UniqueFd()));
  EXPECT_EQ(held.next_due(), std::nullopt);
}

// A frame to `to` whose header of IP has its shortest length.
std::string frame_to(const IpAddress& to) {
  std::string frame(sizeof(ethhdr) + (to.is_v6() ? 40 : 20), '\0');
  const std::uint16_t protocol = htons(to.is_v6() ? ETH_P_IPV6 : ETH_P_IP);
  frame.replace(12, 2, reinterpret_cast<const char*>(&protocol), 2);
  const auto bytes = to.bytes();
  frame.replace(frame.size() - bytes.size(), bytes.size(),
                reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return frame;
}

TEST(GoesTo, TheAddressOfItsKind) {
  for (const auto& [own, other] : {std::pair("10.77.0.2", "10.77.0.3"), {"fd00::2", "fd00::3"}}) {
    const IpAddress to = IpAddress::parse(own).value();
    EXPECT_TRUE(goes_to(to, frame_to(to)));
    EXPECT_TRUE(goes_to(to, frame_to(to) + "data"));
    EXPECT_FALSE(goes_to(to, frame_to(IpAddress::parse(other).value())));
  }
  const IpAddress v4 = IpAddress::parse("10.77.0.2").value();
  const IpAddress v6 = IpAddress::parse("fd00::2").value();
  EXPECT_FALSE(goes_to(v4, frame_to(v6)));
  EXPECT_FALSE(goes_to(v6, frame_to(v4)));
}

TEST(GoesTo, NoAddressIfTheFrameIsTooShort) {
  for (const char* const address : {"10.77.0.2", "fd00::2"}) {
    const IpAddress to = IpAddress::parse(address).value();
    const std::string frame = frame_to(to);
    for (std::size_t size = 0; size < frame.size(); ++size)
      EXPECT_FALSE(goes_to(to, std::string_view(frame).substr(0, size))) << size;
  }
}

TEST(GoesTo, NoAddressIfItIsNotIp) {
  const IpAddress to = IpAddress::parse("10.77.0.2").value();
  std::string frame = frame_to(to);
  const std::uint16_t arp = htons(ETH_P_ARP);
  frame.replace(12, 2, reinterpret_cast<const char*>(&arp), 2);
  EXPECT_FALSE(goes_to(to, frame));
}

}  // namespace
}  // namespace paceline::launcher
