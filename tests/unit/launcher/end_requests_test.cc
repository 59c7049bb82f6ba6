#include "launcher/system/end_requests.h"

#include <chrono>

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

TEST(EndRequests, APersonsSecondInterruptNeedsNoPause) {
  EndRequests requests;
  EXPECT_EQ(requests.came(SIGINT, at(0), false), Meaning::kStop);
  EXPECT_EQ(requests.came(SIGINT, at(1), true), Meaning::kKill);
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
  EXPECT_EQ(requests.came(SIGINT, at(1), true), Meaning::kKill);
}

}  // namespace
}  // namespace paceline::launcher
