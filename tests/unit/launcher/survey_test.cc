#include "launcher/connectivity/survey.h"

#include <gtest/gtest.h>

namespace paceline::launcher {
namespace {

class StoppedWallClock final : public WallClock {
 public:
  Duration since_1970() const override { return std::chrono::seconds(7); }
};

messages::Surveyed good() {
  messages::Surveyed message;
  message.set_host_name("node1");
  message.set_door(4000);
  messages::HostAddress& address = *message.add_addresses();
  address.set_interface("eth0");
  address.set_address("10.0.0.1");
  address.set_prefix_bits(24);
  address.set_mtu(1500);
  address.set_up(true);
  return message;
}

TEST(Survey, ThisHostSaysWhatIsBelieved) {
  const messages::Surveyed message = survey_this_host(StoppedWallClock(), 4000);
  EXPECT_EQ(message.time_ns(), 7'000'000'000);
  const Result<HostSurvey> survey = read_survey(message);
  ASSERT_TRUE(survey.ok()) << survey.status().text();
  EXPECT_EQ(survey->door, 4000);
  EXPECT_FALSE(survey->machine.empty());
  EXPECT_EQ(survey->machine, read_survey(survey_this_host(StoppedWallClock(), 1))->machine);
  for (const HostInterface& one : survey->interfaces) {
    if (one.name != "lo" || one.address.is_v6()) continue;
    EXPECT_EQ(one.address.to_string(), "127.0.0.1");
    EXPECT_EQ(one.prefix_bits, 8);
    EXPECT_EQ(one.kind, InterfaceKind::kLoopback);
    EXPECT_GT(one.mtu, 1500);
  }
}

TEST(Survey, WhatIsGoodComesThrough) {
  const Result<HostSurvey> survey = read_survey(good());
  ASSERT_TRUE(survey.ok());
  ASSERT_EQ(survey->interfaces.size(), 1u);
  EXPECT_EQ(describe(survey->interfaces[0]), "eth0 10.0.0.1/24");
  messages::Surveyed sly = good();
  sly.set_host_name("node\n\x1b[2J");
  EXPECT_EQ(read_survey(sly)->own_name, "node??[2J") << "it is shown on a terminal";
}

TEST(Survey, WhatCannotBeIsRefused) {
  const auto refused = [](auto change) {
    messages::Surveyed message = good();
    change(message);
    const Status status = read_survey(message).status();
    return status.text();
  };
  EXPECT_EQ(refused([](auto& it) { it.set_host_name(std::string(256, 'x')); }),
            "its agent sent a name that is too long");
  EXPECT_EQ(refused([](auto& it) { it.set_machine(std::string(256, 'x')); }),
            "its agent sent a name that is too long");
  for (const std::uint32_t door : {0u, 65536u})
    EXPECT_EQ(refused([door](auto& it) { it.set_door(door); }), "its agent sent an invalid port");
  EXPECT_EQ(refused([](auto& it) {
              for (std::size_t i = 0; i < kMaxSurveyedAddresses; ++i)
                *it.add_addresses() = it.addresses(0);
            }),
            "its agent sent too many addresses");
  for (const char* address : {"", "10.0.0", "node1", "10.0.0.1; rm -rf /"})
    EXPECT_EQ(refused([address](auto& it) { it.mutable_addresses(0)->set_address(address); }),
              "its agent sent an interface without a name or an address");
  for (const std::string& name : {std::string(), std::string(16, 'x')})
    EXPECT_EQ(refused([&](auto& it) { it.mutable_addresses(0)->set_interface(name); }),
              "its agent sent an interface without a name or an address");
  const char* const numbers = "its agent sent impossible numbers of an interface";
  EXPECT_EQ(refused([](auto& it) { it.mutable_addresses(0)->set_prefix_bits(33); }), numbers);
  EXPECT_EQ(refused([](auto& it) { it.mutable_addresses(0)->set_mtu(1u << 31); }), numbers);
  EXPECT_EQ(refused([](auto& it) { it.mutable_addresses(0)->set_speed_mbits(-1); }), numbers);
  EXPECT_EQ(refused([](auto& it) { it.mutable_addresses(0)->set_kind(4); }), numbers);
}

}  // namespace
}  // namespace paceline::launcher
