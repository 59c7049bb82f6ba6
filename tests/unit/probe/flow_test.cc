#include "launcher/tools/measure/probe/check/flow.h"

#include <array>
#include <cmath>
#include <future>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "launcher/tools/measure/probe/check/link.h"

namespace paceline::probe {
namespace {

const SystemClock kClock;
const SystemWallClock kWallClock;
constexpr Duration kShort = std::chrono::milliseconds(60);
constexpr LinkPurpose kPurpose{.round = 3, .from = 1, .use = LinkUse::kFlow};

Deadline soon() { return Deadline::after(kClock, std::chrono::seconds(10)); }

JobKey key_of(std::byte first) {
  return JobKey::from_bytes(std::array<std::byte, JobKey::kBytes>{first});
}
const JobKey kKey = key_of(std::byte{1});

// Dials, while somebody else accepts.
std::future<Result<UniqueFd>> start_dial(const LinkDoor& door, const JobKey& key,
                                         const LinkPurpose& purpose) {
  const std::string address = with_port("127.0.0.1", door.port());
  return std::async(std::launch::async, [address, &key, purpose] {
    return dial(address, key, purpose, soon(), kClock);
  });
}

// Two ends of a connection over loopback.
struct Ends {
  UniqueFd first;
  UniqueFd second;
};

Ends connect() {
  LinkDoor door = LinkDoor::open("127.0.0.1", kClock).value();
  auto first = start_dial(door, kKey, kPurpose);
  Ends ends;
  ends.second = door.accept(kKey, kPurpose, soon()).value();
  ends.first = first.get().value();
  return ends;
}

TEST(Link, StrangersAndOtherPurposesAreTurnedAway) {
  LinkDoor door = LinkDoor::open("127.0.0.1", kClock).value();
  const JobKey other_key = key_of(std::byte{2});
  LinkPurpose old = kPurpose;
  --old.round;
  auto stranger = start_dial(door, other_key, kPurpose);
  auto late = start_dial(door, kKey, old);
  const Result<UniqueFd> nobody =
      door.accept(kKey, kPurpose, Deadline::after(kClock, std::chrono::milliseconds(300)));
  EXPECT_EQ(nobody.status().code(), Code::kTimeout);
  auto friendly = start_dial(door, kKey, kPurpose);
  EXPECT_TRUE(door.accept(kKey, kPurpose, soon()).ok());
  EXPECT_TRUE(friendly.get().ok());
  EXPECT_FALSE(stranger.get().ok());
  EXPECT_FALSE(late.get().ok());
}

TEST(Link, WhoSaysNothingKeepsNobodyOut) {
  LinkDoor door = LinkDoor::open("127.0.0.1", kClock).value();
  const auto there = SocketAddress::parse(with_port("127.0.0.1", door.port())).value();
  const UniqueFd silent = start_connect(there).value();
  auto friendly = start_dial(door, kKey, kPurpose);
  EXPECT_TRUE(door.accept(kKey, kPurpose, soon()).ok());
  EXPECT_TRUE(friendly.get().ok());
}

TEST(Link, NobodyListens) {
  EXPECT_FALSE(dial("127.0.0.1:1", kKey, kPurpose, soon(), kClock).ok());
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
