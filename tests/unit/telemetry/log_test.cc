#include "telemetry/log.h"

#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

namespace paceline {
namespace {

// What standard error gets of one line of each severity.
std::string written(LogLevel level) {
  ::testing::internal::CaptureStderr();
  const auto log = make_stderr_log({.level = level});
  log->write(Severity::kInfo, "one");
  log->write(Severity::kWarning, "two");
  log->write(Severity::kError, "three");
  return ::testing::internal::GetCapturedStderr();
}

TEST(Log, WritesWhatIsSevereEnough) {
  const std::string info = "paceline: info: one\n";
  const std::string warning = "paceline: warning: two\n";
  const std::string error = "paceline: error: three\n";
  EXPECT_EQ(written(LogLevel::kInfo), info + warning + error);
  EXPECT_EQ(written(LogLevel::kWarning), warning + error);
  EXPECT_EQ(written(LogLevel::kError), error);
  EXPECT_EQ(written(LogLevel::kOff), "");
  EXPECT_EQ(written(LogOptions().level), warning + error);
}

TEST(Log, ATextIsNoFormat) {
  ::testing::internal::CaptureStderr();
  make_stderr_log({})->write(Severity::kWarning, "{} %v %s {0:>9999}");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "paceline: warning: {} %v %s {0:>9999}\n");
}

TEST(Log, ALineOfAPeersMakingStaysOneLine) {
  ::testing::internal::CaptureStderr();
  make_stderr_log({})->write(Severity::kWarning, "a\nb\r\x1b[2Jc" + std::string(1, '\0') + "d");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "paceline: warning: a\\x0ab\\x0d\\x1b[2Jc\\x00d\n");
}

TEST(Log, LinesOfManyThreadsStayWhole) {
  constexpr int kThreads = 4;
  constexpr int kLines = 200;
  ::testing::internal::CaptureStderr();
  {
    const auto log = make_stderr_log({});
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&log, i] {
        const std::string text(100, static_cast<char>('a' + i));
        for (int line = 0; line < kLines; ++line) log->write(Severity::kError, text);
      });
    }
  }
  std::string all = ::testing::internal::GetCapturedStderr();
  int lines = 0;
  for (; !all.empty(); ++lines) {
    const std::string line = all.substr(0, all.find('\n') + 1);
    ASSERT_EQ(line, "paceline: error: " + std::string(100, line[17]) + "\n");
    all.erase(0, line.size());
  }
  EXPECT_EQ(lines, kThreads * kLines);
}

// In a child process with the default disposition: what it exits with says what it saw.
class LogOfAClosedPipe : public ::testing::Test {
 protected:
  static void write_a_line() {
    int ends[2];
    if (::pipe(ends) != 0 || ::dup2(ends[1], STDERR_FILENO) < 0) ::_exit(100);
    ::close(ends[0]);
    ::signal(SIGPIPE, SIG_DFL);
    make_stderr_log({})->write(Severity::kError, "nobody reads this");
  }
  static bool is_pending() {
    sigset_t pending;
    ::sigpending(&pending);
    return ::sigismember(&pending, SIGPIPE) == 1;
  }
  static bool is_blocked() {
    sigset_t blocked;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    return ::sigismember(&blocked, SIGPIPE) == 1;
  }
  static void block() {
    sigset_t sigpipe;
    ::sigemptyset(&sigpipe);
    ::sigaddset(&sigpipe, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &sigpipe, nullptr);
  }
};

TEST_F(LogOfAClosedPipe, RaisesNoSignalAndLeavesNoTrace) {
  const auto body = [] {
    write_a_line();
    ::_exit(is_pending() || is_blocked() ? 1 : 0);
  };
  EXPECT_EXIT(body(), ::testing::ExitedWithCode(0), "");
}

TEST_F(LogOfAClosedPipe, LeavesTheProgramsOwnSignalPending) {
  const auto body = [] {
    block();
    ::raise(SIGPIPE);
    write_a_line();
    ::_exit(is_pending() && is_blocked() ? 0 : 1);
  };
  EXPECT_EXIT(body(), ::testing::ExitedWithCode(0), "");
}

TEST_F(LogOfAClosedPipe, LeavesTheProgramsOwnWritesAsTheyWere) {
  const auto body = [] {
    write_a_line();
    (void)!::write(STDERR_FILENO, "x", 1);
    ::_exit(0);
  };
  EXPECT_EXIT(body(), ::testing::KilledBySignal(SIGPIPE), "");
}

TEST(OneLine, LeavesPrintableTextAsItIs) {
  for (const std::string text :
       {"", "refused 10.0.0.7: why", "ünï — …", "日本語", "🙂", "a\\b"}) {
    EXPECT_EQ(one_line(text), text);
  }
}

TEST(OneLine, EscapesControlCharacters) {
  for (int byte = 0; byte < 0x20; ++byte) {
    const std::string line = one_line(std::string(1, static_cast<char>(byte)));
    EXPECT_EQ(line.substr(0, 2), "\\x");
    EXPECT_EQ(std::stoi(line.substr(2), nullptr, 16), byte);
  }
  EXPECT_EQ(one_line("\x7f"), "\\x7f");
  EXPECT_EQ(one_line("\xc2\x9b"
                     "1m"),
            "\\xc2\\x9b1m")
      << "U+009B begins a control sequence as ESC [ does";
  EXPECT_EQ(one_line("\xc2\xa0"), "\xc2\xa0");
}

TEST(OneLine, EscapesWhatIsNotUtf8) {
  const std::vector<std::string> broken = {"\xff",
                                           "\x80",
                                           "\xc2",
                                           "\xe2\x82",
                                           "\xc0\xaf",
                                           "\xe0\x80\x80",
                                           "\xed\xa0\x80",
                                           "\xf0\x80\x80\x80",
                                           "\xf4\x90\x80\x80",
                                           "\xf5\x80\x80\x80",
                                           "\xe2\x28\xa1"};
  for (const std::string& text : broken) {
    const std::string line = one_line(text);
    EXPECT_EQ(line.substr(0, 2), "\\x") << line;
    for (const char byte : line) EXPECT_TRUE(byte >= 0x20 && byte < 0x7f) << line;
  }
  EXPECT_EQ(one_line("a\xff…"), "a\\xff…");
}

TEST(OneLine, IsBoundedAndSaysWhatIsCut) {
  const std::string whole(kMaxLogBytes, 'x');
  EXPECT_EQ(one_line(whole), whole);
  EXPECT_EQ(one_line(whole + "x"), whole + "…");
  EXPECT_LE(one_line(std::string(1 << 20, '\n')).size(), kMaxLogBytes + 3);
  // A character is cut off whole.
  const std::string line = one_line(std::string(kMaxLogBytes - 1, 'x') + "é");
  EXPECT_EQ(line, std::string(kMaxLogBytes - 1, 'x') + "…");
}

}  // namespace
}  // namespace paceline
