// Parts of a ring: one for each of a rank's communicators.
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "telemetry/flight_ring.h"
#include "tests/unit/telemetry/numbered_records.h"

namespace paceline {
namespace {

using testing::write_numbered;

// "GROUP:NUMBER" of each record.
std::vector<std::string> told(const FlightRing& ring) {
  std::vector<std::string> all;
  for (const FlightRecord& record : ring.read())
    all.push_back(
        std::string(record.group).append(":").append(std::to_string(record.signature.sequence)));
  return all;
}

using Told = std::vector<std::string>;

TEST(FlightParts, AreReadTogetherInTheOrderOfTime) {
  const UniqueFd memory = FlightRing::create_memory().value();
  const auto agent = FlightRing::open(memory.get()).value();
  const auto world = FlightRing::open(memory.get()).value();
  const auto part = FlightRing::open_for(memory.get(), "split #3, color 0").value();
  for (const std::uint64_t number : {1U, 4U}) write_numbered(*world, number);
  for (const std::uint64_t number : {2U, 3U, 5U}) write_numbered(*part, number);
  EXPECT_EQ(told(*agent), (Told{":1", "split #3, color 0:2", "split #3, color 0:3", ":4",
                                "split #3, color 0:5"}));
  EXPECT_EQ(agent->read().back().to_string(TimePoint(std::chrono::seconds(1))),
            "all_reduce(15 x float32, sum, root 5) #5 of split #3, color 0, running for 1.000 s");
}

TEST(FlightParts, OfMilestonesOnlyTheWorldsCount) {
  const UniqueFd memory = FlightRing::create_memory().value();
  const auto world = FlightRing::open(memory.get()).value();
  const auto part = FlightRing::open_for(memory.get(), "part").value();
  part->note_join(TimePoint(Duration(3)), TimePoint(Duration(5)));
  write_numbered(*part, 2);
  EXPECT_EQ(world->milestones(), FlightMilestones());
}

TEST(FlightParts, ThatAreGivenBackAreFreeAndTheirRecordsStayUntilThen) {
  const UniqueFd memory = FlightRing::create_memory().value();
  const auto agent = FlightRing::open(memory.get()).value();
  for (std::uint64_t number = 1; number < 100; ++number) {
    const auto part =
        FlightRing::open_for(memory.get(), std::string("part ").append(std::to_string(number)));
    ASSERT_TRUE(part.ok()) << part.status().to_string();
    write_numbered(**part, number);
    const std::string name = std::to_string(number);
    EXPECT_EQ(told(*agent), Told{std::string("part ").append(name).append(":").append(name)});
  }
  EXPECT_EQ(told(*agent), Told{"part 99:99"});
}

// "Exits" is for the rank, whichever of its communicators comes next.
TEST(FlightParts, OfARankThatIsToldToExitAllDo) {
  const UniqueFd memory = FlightRing::create_memory().value();
  const auto before = FlightRing::open_for(memory.get(), "before").value();
  FlightRing::open(memory.get()).value()->exit_at_next(7);
  EXPECT_EXIT(write_numbered(*before, 1), ::testing::ExitedWithCode(7), "");
  const auto after = FlightRing::open_for(memory.get(), "after").value();
  EXPECT_EXIT(write_numbered(*after, 1), ::testing::ExitedWithCode(7), "");
}

TEST(FlightParts, AreSoManyAndNoMore) {
  const UniqueFd memory = FlightRing::create_memory().value();
  std::vector<std::unique_ptr<FlightRing>> parts;
  for (std::uint32_t i = 1; i < FlightRing::kParts; ++i)
    parts.push_back(FlightRing::open_for(memory.get(), "part").value());
  const auto none = FlightRing::open_for(memory.get(), "part");
  EXPECT_EQ(none.status().code(), Code::kUnavailable);
  EXPECT_EQ(none.status().text(),
            "flight ring: 15 groups of a rank besides the world can have one");
  parts.pop_back();
  EXPECT_TRUE(FlightRing::open_for(memory.get(), "part").ok());
}

TEST(FlightParts, OfAProcessThatHasEndedAreFree) {
  const UniqueFd memory = FlightRing::create_memory().value();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    for (std::uint32_t i = 1; i < FlightRing::kParts; ++i)
      write_numbered(*FlightRing::open_for(memory.get(), "child").value().release(), i);
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  const auto agent = FlightRing::open(memory.get()).value();
  EXPECT_EQ(told(*agent).size(), FlightRing::kParts - 1) << "evidence outlives its writer";
  const auto part = FlightRing::open_for(memory.get(), "part");
  ASSERT_TRUE(part.ok()) << part.status().to_string();
  EXPECT_EQ(told(*agent).size(), FlightRing::kParts - 2);
}

TEST(FlightParts, HaveNamesThatDisturbNobody) {
  const UniqueFd memory = FlightRing::create_memory().value();
  const auto part = FlightRing::open_for(memory.get(), "a\n" + std::string(100, 'b')).value();
  write_numbered(*part, 1);
  EXPECT_EQ(part->read()[0].group, "a?" + std::string(FlightRing::kMostName - 2, 'b'));
}

}  // namespace
}  // namespace paceline
