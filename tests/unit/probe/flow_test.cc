#include "launcher/probe/check/flow.h"

#include <cmath>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "launcher/probe/check/link.h"

namespace paceline::probe {
namespace {

const SystemClock kClock;
const SystemWallClock kWallClock;
constexpr Duration kShort = std::chrono::milliseconds(60);
const Secret kSecret{std::byte{1}, std::byte{2}};
constexpr LinkPurpose kPurpose{.round = 3, .from = 1, .use = LinkUse::kFlow};

Deadline soon() { return Deadline::after(kClock, std::chrono::seconds(10)); }

// Two ends of a connection over loopback.
struct Ends {
  UniqueFd first;
  UniqueFd second;
};

Ends connect() {
  LinkDoor door = LinkDoor::open("127.0.0.1", kClock).value();
  const std::string address = with_port("127.0.0.1", door.port());
  Ends ends;
  ends.first = dial(address, kSecret, kPurpose, soon(), kClock).value();
  ends.second = door.accept(kSecret, kPurpose, soon()).value();
  return ends;
}

TEST(Link, StrangersAndOtherPurposesAreTurnedAway) {
  LinkDoor door = LinkDoor::open("127.0.0.1", kClock).value();
  const std::string address = with_port("127.0.0.1", door.port());
  const UniqueFd stranger = dial(address, Secret{}, kPurpose, soon(), kClock).value();
  LinkPurpose old = kPurpose;
  --old.round;
  const UniqueFd late = dial(address, kSecret, old, soon(), kClock).value();
  const Result<UniqueFd> nobody =
      door.accept(kSecret, kPurpose, Deadline::after(kClock, std::chrono::milliseconds(50)));
  EXPECT_EQ(nobody.status().code(), Code::kTimeout);
  const UniqueFd friendly = dial(address, kSecret, kPurpose, soon(), kClock).value();
  EXPECT_TRUE(door.accept(kSecret, kPurpose, soon()).ok());
  char byte = 0;
  EXPECT_FALSE(receive_all(stranger.get(), &byte, 1, soon(), kClock).ok());
  EXPECT_FALSE(receive_all(late.get(), &byte, 1, soon(), kClock).ok());
}

TEST(Link, Addresses) {
  EXPECT_EQ(host_part("10.0.0.1:400"), "10.0.0.1");
  EXPECT_EQ(host_part("[fe80::1]:400"), "fe80::1");
  EXPECT_EQ(with_port("fe80::1", 7), "[fe80::1]:7");
  EXPECT_EQ(with_port("10.0.0.1", 7), "10.0.0.1:7");
  EXPECT_FALSE(dial("127.0.0.1:1", kSecret, kPurpose, soon(), kClock).ok()) << "nobody listens";
}

TEST(Flow, OneWay) {
  Ends ends = connect();
  Result<FlowResult> sent = Status(Code::kInternal, Scope::kOperation, "not run");
  std::thread sender([&] {
    sent = run_flow({.send_to = std::move(ends.first), .receive_from = {}, .time = kShort}, kClock);
  });
  const auto received =
      run_flow({.send_to = {}, .receive_from = std::move(ends.second), .time = kShort}, kClock);
  sender.join();
  ASSERT_TRUE(sent.ok() && received.ok());
  EXPECT_GT(received->bits_per_s, 1e6);
  EXPECT_EQ(sent->bits_per_s, 0);
}

TEST(Flow, BothWays) {
  Ends one = connect(), two = connect();
  Result<FlowResult> there = Status(Code::kInternal, Scope::kOperation, "not run");
  std::thread other([&] {
    there = run_flow(
        {.send_to = std::move(one.first), .receive_from = std::move(two.first), .time = kShort},
        kClock);
  });
  const auto here = run_flow(
      {.send_to = std::move(two.second), .receive_from = std::move(one.second), .time = kShort},
      kClock);
  other.join();
  ASSERT_TRUE(here.ok() && there.ok());
  EXPECT_GT(here->bits_per_s, 1e6);
  EXPECT_GT(there->bits_per_s, 1e6);
}

TEST(Flow, AnEndThatGoesIsAnError) {
  Ends ends = connect();
  ends.first.reset();
  EXPECT_FALSE(
      run_flow({.send_to = {}, .receive_from = std::move(ends.second), .time = kShort}, kClock)
          .ok());
}

TEST(Flow, Pings) {
  Ends ends = connect();
  std::thread other(
      [&] { EXPECT_TRUE(run_pings(ends.second.get(), false, kShort, kClock, kWallClock).ok()); });
  const auto found = run_pings(ends.first.get(), true, kShort, kClock, kWallClock);
  other.join();
  ASSERT_TRUE(found.ok());
  EXPECT_GT(found->best_us, 0);
  EXPECT_LE(found->best_us, found->median_us);
  EXPECT_LE(std::abs(found->clock_offset_us), found->best_us) << "it is the same clock";
}

}  // namespace
}  // namespace paceline::probe
