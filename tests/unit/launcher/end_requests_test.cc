#include "launcher/system/end_requests.h"

#include <chrono>
#include <utility>

#include <gtest/gtest.h>
#include <signal.h>

namespace paceline::launcher {
namespace {

using Meaning = EndRequests::Meaning;
using std::chrono::milliseconds;

TimePoint at(int ms) { return TimePoint(milliseconds(ms)); }

TEST(EndRequests, TheFirstStopsAndTheSecondKills) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    EndRequests requests;
    EXPECT_EQ(requests.came(signal, at(0), false), Meaning::kStop);
    EXPECT_EQ(requests.came(signal, at(1500), true), Meaning::kKill);
  }
}

TEST(EndRequests, ASignalThatIsPassedOnAtOnceIsNoSecondRequest) {
  EndRequests requests;
  EXPECT_EQ(requests.came(SIGTERM, at(0), false), Meaning::kStop);
  EXPECT_EQ(requests.came(SIGTERM, at(20), true), Meaning::kNothing);
  EXPECT_EQ(requests.came(SIGTERM, at(3000), true), Meaning::kKill);
}

TEST(EndRequests, APersonsSecondInterruptKillsSoon) {
  EndRequests requests;
  EXPECT_EQ(requests.came(SIGINT, at(0), false), Meaning::kStop);
  EXPECT_EQ(requests.came(SIGINT, at(250), true), Meaning::kKill);
}

// timeout(1) sends the signal to its child and then to its process group.
TEST(EndRequests, AnInterruptThatRepeatsAtOnceIsOneRequest) {
  EndRequests requests;
  EXPECT_EQ(requests.came(SIGINT, at(0), false), Meaning::kStop);
  EXPECT_EQ(requests.came(SIGINT, at(1), true), Meaning::kNothing);
  EXPECT_EQ(requests.came(SIGINT, at(250), true), Meaning::kKill);
}

// LSF sends SIGINT, SIGTERM 10 s later, and finally SIGKILL.
TEST(EndRequests, AnEscalationLeavesTheGrace) {
  for (const auto& [first, second] :
       {std::pair(SIGINT, SIGTERM), std::pair(SIGTERM, SIGINT), std::pair(SIGHUP, SIGTERM)}) {
    EndRequests requests;
    EXPECT_EQ(requests.came(first, at(0), false), Meaning::kStop);
    EXPECT_EQ(requests.came(second, at(10'000), true), Meaning::kNothing);
    EXPECT_EQ(requests.came(second, at(20'000), true), Meaning::kKill);
  }
}

TEST(EndRequests, TheFirstOfAJobThatIsEndingLeavesItsGrace) {
  for (const int signal : {SIGTERM, SIGHUP}) {
    EndRequests requests;
    EXPECT_EQ(requests.came(signal, at(0), true), Meaning::kNothing);
    EXPECT_EQ(requests.came(signal, at(1500), true), Meaning::kKill);
  }
  EXPECT_EQ(EndRequests().came(SIGINT, at(0), true), Meaning::kKill);
}

TEST(EndRequests, AnInterruptOfAllProcessesIsOneRequest) {
  EndRequests requests;
  requests.came_elsewhere();
  EXPECT_EQ(requests.came(SIGINT, at(0), true), Meaning::kNothing);
  EXPECT_EQ(requests.came(SIGINT, at(250), true), Meaning::kKill);
}

}  // namespace
}  // namespace paceline::launcher
