// A scenario survives being printed and given back; what is no scenario is refused by name.

#include "tests/sim/scenario_text.h"

#include <gtest/gtest.h>

namespace paceline::testing {
namespace {

TEST(ScenarioText, EveryGeneratedScenarioComesBack) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Scenario scenario = generate(seed, {});
    Random random(seed);
    place_faults(scenario, 1000, random);
    place_disagreement(scenario, kDifferences[seed % std::size(kDifferences)], random);
    const std::string text = to_text(scenario);
    const auto back = parse_scenario(text);
    ASSERT_TRUE(back.ok()) << text << ": " << back.status().to_string();
    EXPECT_EQ(*back, scenario) << text;
    EXPECT_EQ(text.find('\''), std::string::npos)
        << "it stands between quotes in a shell: " << text;
  }
}

TEST(ScenarioText, WhatIsNotSaidKeepsItsDefault) {
  const auto scenario = parse_scenario("ranks=3 call=barrier  lose=1@7");
  ASSERT_TRUE(scenario.ok()) << scenario.status().to_string();
  EXPECT_EQ(*scenario,
            (Scenario{.ranks = 3, .calls = {Call{}}, .faults = {{.ranks = {1}, .step = 7}}}));
}

TEST(ScenarioText, AWrongWordIsNamed) {
  for (const char* word : {"rank=3",
                           "ranks=",
                           "ranks=x",
                           "ranks=0",
                           "ranks=-1",
                           "delay_us=5",
                           "delay_us=9..5",
                           "call=reduce",
                           "call=all_reduce,5",
                           "call=all_reduce,5,float15,sum",
                           "call=broadcast,5,int32,first",
                           "call=barrier,slowly",
                           "lose=",
                           "lose=1",
                           "lose=1@x",
                           "lose=2.1@5",
                           "lose=1@5+7",
                           "stop=1@5",
                           "slow=1@5",
                           "deviate=1@0",
                           "deviate=1@0:stay",
                           "deviate=1@0:replace=x",
                           "seed",
                           "=",
                           "call=all_reduce,99999999999,float32,sum"}) {
    const auto scenario = parse_scenario(std::string("ranks=4 ") + word);
    ASSERT_FALSE(scenario.ok()) << word;
    EXPECT_EQ(scenario.status().code(), Code::kInvalidArgument);
    EXPECT_NE(scenario.status().text().find(word), std::string::npos) << scenario.status().text();
  }
}

TEST(ScenarioText, RanksThatAreNotThereAreRefused) {
  for (const char* text : {"ranks=2 call=broadcast,1,int32,2", "ranks=2 lose=2@0",
                           "ranks=2 call=barrier deviate=2@0:skip", "ranks=1000000",
                           "ranks=2 call=barrier deviate=1@0:replace=broadcast,1,int32,5"}) {
    EXPECT_FALSE(parse_scenario(text).ok()) << text;
  }
}

}  // namespace
}  // namespace paceline::testing
