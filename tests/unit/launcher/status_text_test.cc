#include "launcher/control/status_text.h"

#include <gtest/gtest.h>

namespace paceline::launcher {
namespace {

namespace v1 = job::v1;

v1::Snapshot snapshot() {
  v1::Snapshot made;
  made.set_job_id("3f2a000000000000");
  made.set_command("./train");
  made.set_elapsed_seconds(200);
  made.set_phase(v1::PHASE_RUNNING);
  v1::Host& host = *made.add_hosts();
  host.set_name("node1");
  host.set_phase(v1::Host::PHASE_READY);
  host.set_seconds_since_heard(1);
  v1::Rank& rank = *made.add_ranks();
  rank.mutable_member()->set_role("worker");
  rank.set_host("node1");
  rank.set_pid(4711);
  rank.set_state(v1::Rank::STATE_RUNNING);
  return made;
}

TEST(StatusTextTest, ShowsTheJobItsHostsAndItsRanks) {
  EXPECT_EQ(status_text(snapshot()),
            "job 3f2a000000000000: running\n"
            "after 3 min 20 s: ./train\n"
            "\n"
            "HOST   PHASE\n"
            "node1  ready\n"
            "\n"
            "RANK      HOST   LOCAL RANK  PID   STATE    OPERATION\n"
            "worker 0  node1  0           4711  running\n");
}

TEST(StatusTextTest, NamesTheCauseTheCulpritAndTheExitCode) {
  v1::Snapshot failed = snapshot();
  failed.set_phase(v1::PHASE_ENDED);
  failed.set_cause(v1::CAUSE_RANK_FAILED);
  failed.mutable_culprit()->set_role("worker");
  failed.set_exit_code(3);
  failed.mutable_ranks(0)->set_state(v1::Rank::STATE_ENDED);
  failed.mutable_ranks(0)->set_end("exited with code 3");
  const std::string text = status_text(failed);
  EXPECT_NE(text.find("ended; cause: rank failed: worker 0\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\nexit code 3\n"), std::string::npos) << text;
  EXPECT_NE(text.find("4711  exited with code 3\n"), std::string::npos) << text;
}

TEST(StatusTextTest, SaysSinceWhenAHostIsSilent) {
  v1::Snapshot silent = snapshot();
  silent.mutable_hosts(0)->set_seconds_since_heard(7.5);
  EXPECT_NE(status_text(silent).find("node1  ready  silent for 7 s\n"), std::string::npos);
}

TEST(StatusTextTest, BeforeTheHostsAreConnectedThereIsNoTableOfRanks) {
  v1::Snapshot starting = snapshot();
  starting.clear_ranks();
  EXPECT_EQ(status_text(starting).find("RANK"), std::string::npos);
}

}  // namespace
}  // namespace paceline::launcher
