// Requests of the control service to end a job, as JobMachine decides about them.
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>

#include "tests/unit/launcher/small_job.h"

namespace paceline::launcher {
namespace {

// What all hosts are told to end their ranks by, in this order.
std::vector<int> stop_signals(const SmallJob& job) {
  std::vector<int> signals;
  for (const JobCommand& command : job.commands()) {
    const auto* tell = std::get_if<TellAllHosts>(&command);
    if (tell != nullptr && tell->message.has_stop())
      signals.push_back(tell->message.stop().signal());
  }
  return signals;
}

std::string said(const SmallJob& job) {
  for (const JobCommand& command : job.commands())
    if (const auto* say = std::get_if<Say>(&command)) return say->text;
  return "";
}

TEST(JobRequestsTest, TheMessageNamesWhoAsked) {
  SmallJob job;
  job.handle(SignalCame{.signal = SIGTERM, .why = "cancelled by a scheduler"});
  EXPECT_EQ(said(job), "cancelled by a scheduler; ending 3 ranks");
  EXPECT_EQ(stop_signals(job), std::vector<int>{SIGTERM});
}

TEST(JobRequestsTest, ASignalWithoutAReasonIsNamed) {
  SmallJob job;
  job.handle(SignalCame{SIGTERM});
  EXPECT_EQ(said(job), "SIGTERM came; ending 3 ranks");
}

TEST(JobRequestsTest, ARequestToKillLeavesNoGrace) {
  SmallJob job;
  job.handle(SignalCame{.signal = SIGINT, .why = "cancelled by a user", .kills = true});
  EXPECT_EQ(stop_signals(job), (std::vector<int>{SIGINT, SIGKILL}));
  EXPECT_EQ(job.state().outcome.cause, StopCause::kInterrupt);
}

TEST(JobRequestsTest, ARequestToKillEndsTheGraceOfAnEarlierOne) {
  SmallJob job;
  job.handle(SignalCame{SIGTERM});
  job.handle(SignalCame{.signal = SIGINT, .why = "cancelled by a user", .kills = true});
  EXPECT_EQ(stop_signals(job), std::vector<int>{SIGKILL});
  EXPECT_EQ(job.state().outcome.cause, StopCause::kTerminate);
}

}  // namespace
}  // namespace paceline::launcher
