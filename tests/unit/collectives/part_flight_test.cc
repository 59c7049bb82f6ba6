// The launcher's flight ring has the operations of a world, and of what it is split into.
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <paceline/communicator.h>
#include <paceline/gradient_pipeline.h>

#include "telemetry/flight_ring.h"

namespace paceline {
namespace {

// The environment of a rank that is alone.
class PartFlight : public ::testing::Test {
 protected:
  PartFlight() { ::setenv("PACELINE_FLIGHT_FD", std::to_string(memory_.get()).c_str(), 1); }
  ~PartFlight() override { ::unsetenv("PACELINE_FLIGHT_FD"); }

  // "all_gather(2 x int64) #0", "… of GROUP"
  std::vector<std::string> told() const {
    std::vector<std::string> all;
    for (const FlightRecord& record : agent_->read()) {
      const std::string text = record.to_string(TimePoint::max());
      all.push_back(text.substr(0, text.find(", succeeded")));
    }
    return all;
  }

  UniqueFd memory_ = FlightRing::create_memory().value();
  std::unique_ptr<FlightRing> agent_ = FlightRing::open(memory_.get()).value();
};

TEST_F(PartFlight, HasOperationsOfAllCommunicators) {
  Communicator world = Communicator::init().value();
  world.barrier().value();
  Communicator part = world.split(4, 0).value().value();
  part.barrier().value();
  Communicator smaller = part.split(0, 0).value().value();
  smaller.barrier().value();
  world.barrier().value();
  const std::vector<std::string> all = told();
  ASSERT_EQ(all.size(), 8U);
  EXPECT_EQ(all[0], "barrier #0");
  EXPECT_EQ(all[3], "barrier #0 of split #1, color 4");
  EXPECT_EQ(all[6], "barrier #0 of split #1, color 4; split #1, color 0");
  EXPECT_EQ(all[7], "barrier #3");
}

TEST_F(PartFlight, HasThoseOfAGradientPipeline) {
  Communicator world = Communicator::init().value();
  auto pipeline = GradientPipeline::create(world, {{.name = "a", .count = 112}}).value();
  pipeline.ready(0).value();
  pipeline.wait().value();
  const std::vector<std::string> all = told();
  EXPECT_EQ(all.back(), "all_reduce(112 x float32, sum) #2 of split #0, color 0");
}

// Who made it knows nothing of this world.
TEST_F(PartFlight, HasNoneOfACommunicatorThatWasMadeByAnId) {
  Communicator made = Communicator::init(make_unique_id().value(), 0, 1).value();
  made.barrier().value();
  Communicator part = made.split(0, 0).value().value();
  part.barrier().value();
  EXPECT_TRUE(told().empty());
}

TEST_F(PartFlight, HasRoomForSoManyAndTheOthersWorkWithout) {
  Communicator world = Communicator::init().value();
  std::vector<Communicator> parts;
  for (std::uint32_t i = 0; i < FlightRing::kParts + 3; ++i) {
    parts.push_back(world.split(0, 0).value().value());
    parts.back().barrier().value();
  }
  parts.clear();
  Communicator last = world.split(7, 0).value().value();
  last.barrier().value();
  EXPECT_TRUE(told().back().ends_with(", color 7")) << told().back();
}

}  // namespace
}  // namespace paceline
