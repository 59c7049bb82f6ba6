#include "launcher/bench/captured_run.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "launcher/process/process.h"

namespace paceline::launcher {
namespace {

using Lines = std::vector<std::string>;

constexpr Duration kLong = std::chrono::seconds(60);

struct Ran {
  CapturedEnd end;
  Lines lines;
};

// What adopt_orphans() sets, it sets for good, and other tests are to be as they were.
class CapturedRun : public testing::Test {
 protected:
  CapturedRun() { EXPECT_TRUE(adopt_orphans().ok()); }
  ~CapturedRun() override {
    ::prctl(PR_SET_CHILD_SUBREAPER, 0);
    sigset_t child_signal;
    ::sigemptyset(&child_signal);
    ::sigaddset(&child_signal, SIGCHLD);
    ::sigprocmask(SIG_UNBLOCK, &child_signal, nullptr);
  }
};

Ran run(const std::string& script, Duration silence = kLong, Duration between = kLong) {
  Ran ran;
  const CapturedProgram program{
      .words = {"sh", "-c", script}, .environment = {{"GIVEN", "a b"}}, .shows_errors = false};
  const auto take = [&](const std::string& line) {
    ran.lines.push_back(line);
    return between;
  };
  const Result<CapturedEnd> end = run_captured(program, silence, take);
  EXPECT_TRUE(end.ok()) << end.status().to_string();
  if (end.ok()) ran.end = *end;
  EXPECT_TRUE(children().empty());
  return ran;
}

TEST_F(CapturedRun, LinesErrorsAndCode) {
  const Ran ran = run("echo one; echo \"$GIVEN\"; echo wrong >&2; printf unfinished; exit 3");
  EXPECT_EQ(ran.lines, (Lines{"one", "a b"}));
  EXPECT_EQ(ran.end.errors, "wrong\n");
  ASSERT_TRUE(ran.end.wait_status);
  EXPECT_EQ(WEXITSTATUS(*ran.end.wait_status), 3);
}

TEST_F(CapturedRun, ManyLines) {
  const Ran ran = run("seq 100000");
  ASSERT_EQ(ran.lines.size(), 100000u);
  EXPECT_EQ(ran.lines.back(), "100000");
}

TEST_F(CapturedRun, SilenceEndsAtOnceWithAllProcesses) {
  const Ran ran = run("echo begun; sleep 100 & sleep 100", kLong, std::chrono::milliseconds(50));
  EXPECT_EQ(ran.lines, Lines{"begun"});
  EXPECT_FALSE(ran.end.wait_status);
}

TEST_F(CapturedRun, WhoLeavesAChildBehindDoesNotHoldItUp) {
  const Ran ran = run("sleep 100 & echo done");
  EXPECT_EQ(ran.lines, Lines{"done"});
  EXPECT_TRUE(ran.end.wait_status);
}

TEST_F(CapturedRun, ASignalIsSeen) {
  const Ran ran = run("kill -TERM $$");
  ASSERT_TRUE(ran.end.wait_status);
  EXPECT_EQ(WTERMSIG(*ran.end.wait_status), SIGTERM);
}

TEST_F(CapturedRun, NoSuchProgram) {
  const auto end = run_captured({.words = {"/no/such/program"}}, kLong,
                                [](const std::string&) { return kLong; });
  ASSERT_TRUE(end.ok() && end->wait_status);
  EXPECT_EQ(WEXITSTATUS(*end->wait_status), 127);
}

}  // namespace
}  // namespace paceline::launcher
