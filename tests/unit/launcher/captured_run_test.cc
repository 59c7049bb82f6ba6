#include "launcher/tools/measure/captured_run.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher/system/process.h"

namespace paceline::launcher {
namespace {

using Lines = std::vector<std::string>;
using Words = CapturedProgram::Words;

constexpr Duration kMinute = std::chrono::seconds(60);

struct Ran {
  CapturedEnd end;
  Lines lines;
};

// What adopt_orphans() sets, it sets for good, and other tests are to be as they were.
class CapturedRun : public ::testing::Test {
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

Ran run(const std::string& script, Duration silence = kMinute, Duration between = kMinute) {
  Ran ran;
  const CapturedProgram program{
      .runs = Words{"sh", "-c", script}, .environment = {{"GIVEN", "a b"}}, .shows_errors = false};
  const auto take = [&](std::size_t, const std::string& line) {
    ran.lines.push_back(line);
    return CapturedAnswer{.silence = between};
  };
  const auto ends = run_captured(std::span(&program, 1), silence, take);
  EXPECT_TRUE(ends.ok()) << ends.status().to_string();
  if (ends.ok()) ran.end = ends->front();
  EXPECT_TRUE(children().empty());
  return ran;
}

// The word "next" lets the next one start.
std::vector<CapturedEnd> run_all(const std::vector<Lines>& words) {
  std::vector<CapturedProgram> programs;
  for (const Lines& one : words) programs.push_back({.runs = one});
  const auto ends = run_captured(programs, kMinute, [](std::size_t, const std::string& line) {
    return CapturedAnswer{.silence = kMinute, .starts_next = line == "next"};
  });
  EXPECT_TRUE(children().empty());
  return ends.ok() ? *ends : std::vector<CapturedEnd>();
}

int code_of(const CapturedEnd& end) {
  return end.wait_status && WIFEXITED(*end.wait_status) ? WEXITSTATUS(*end.wait_status) : -1;
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
  const Ran ran = run("echo begun; sleep 100 & sleep 100", kMinute, std::chrono::milliseconds(50));
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
  EXPECT_EQ(code_of(run_all({{"/no/such/program"}}).front()), 127);
}

// The number of those that exec(3) would have closed.
int left_open() {
  int open = 0;
  for (int fd = 0; fd < 1024; ++fd) {
    const int flags = ::fcntl(fd, F_GETFD);
    if (flags != -1 && (flags & FD_CLOEXEC) != 0) ++open;
  }
  return open;
}

TEST_F(CapturedRun, ABodyIsCalledInAChild) {
  const pid_t parent = ::getpid();
  const CapturedProgram program{.runs =
                                    [parent] {
                                      const std::string given = std::getenv("GIVEN");
                                      const std::string line = given + "\n";
                                      (void)!::write(STDOUT_FILENO, line.data(), line.size());
                                      return ::getppid() == parent ? 10 + left_open() : 1;
                                    },
                                .environment = {{"GIVEN", "a b"}}};
  Lines lines;
  const auto ends =
      run_captured(std::span(&program, 1), kMinute, [&](std::size_t, const std::string& line) {
        lines.push_back(line);
        return CapturedAnswer{.silence = kMinute};
      });
  ASSERT_TRUE(ends.ok());
  EXPECT_EQ(code_of(ends->front()), 10) << "more is open than after exec(3)";
  EXPECT_EQ(lines, Lines{"a b"});
  EXPECT_EQ(std::getenv("GIVEN"), nullptr);
}

TEST_F(CapturedRun, TheNextStartsWhenItMay) {
  const std::string path = ::testing::TempDir() + "/captured_run_" + std::to_string(::getpid());
  const std::string first = "echo one; sleep 0.2; touch " + path + "; echo next";
  const auto ends = run_all({{"sh", "-c", first}, {"sh", "-c", "test -e " + path}});
  ::unlink(path.c_str());
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_EQ(code_of(ends[0]), 0);
  EXPECT_EQ(code_of(ends[1]), 0) << "started too early";
}

TEST_F(CapturedRun, OneThatFailsEndsTheOthers) {
  const auto ends = run_all({{"sh", "-c", "echo next; sleep 100"}, {"sh", "-c", "exit 3"}});
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_FALSE(ends[0].wait_status);
  EXPECT_EQ(code_of(ends[1]), 3);
}

TEST_F(CapturedRun, WhoListensIsToldLines) {
  std::vector<CapturedProgram> programs(2);
  programs[0] = {.runs = Words{"sh", "-c", "echo next; read word; echo heard $word"},
                 .listens = true};
  programs[1] = {.runs = Words{"sh", "-c", "echo next; read word && exit 5; echo nothing"}};
  Lines lines;
  const auto ends =
      run_captured(programs, kMinute, [&](std::size_t which, const std::string& line) {
        if (line != "next") lines.push_back(line);
        CapturedAnswer answer{.silence = kMinute, .starts_next = line == "next"};
        if (which == 1) answer.tells = {.whom = 0, .line = "two words"};
        return answer;
      });
  ASSERT_TRUE(ends.ok());
  EXPECT_EQ(code_of(ends->at(0)), 0);
  EXPECT_EQ(code_of(ends->at(1)), 0) << "it has heard what was told to the other one";
  std::ranges::sort(lines);
  EXPECT_EQ(lines, (Lines{"heard two words", "nothing"}));
}

TEST_F(CapturedRun, WhoHasEndedHearsNothing) {
  const CapturedProgram program{.runs = Words{"sh", "-c", "exec <&-; echo closed; sleep 0.1"},
                                .listens = true};
  const auto ends =
      run_captured(std::span(&program, 1), kMinute, [](std::size_t, const std::string&) {
        return CapturedAnswer{.silence = kMinute, .tells = CapturedWord{.whom = 0, .line = "go"}};
      });
  ASSERT_TRUE(ends.ok());
  EXPECT_EQ(code_of(ends->front()), 0);
}

TEST_F(CapturedRun, WhatWasNotLetGoIsNotStarted) {
  const auto ends = run_all({{"sh", "-c", "exit 3"}, {"sh", "-c", "exit 4"}});
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_EQ(code_of(ends[0]), 3);
  EXPECT_FALSE(ends[1].wait_status);
}

}  // namespace
}  // namespace paceline::launcher
