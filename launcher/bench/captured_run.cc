#include "launcher/bench/captured_run.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "comm/base/try.h"
#include "launcher/head/exit_code.h"
#include "launcher/process/event_loop.h"
#include "launcher/process/process.h"
#include "launcher/process/system.h"

namespace paceline::launcher {
namespace {

constexpr Duration kClearingUp = std::chrono::seconds(10);
constexpr std::size_t kMaxLine = 4096;
constexpr std::size_t kKeptErrors = 4096;

struct Streams {
  Pipe out;
  Pipe errors;  // closed where they are shown
};

[[noreturn]] void become(const CapturedProgram& program, const Streams& streams, pid_t parent) {
  die_with(parent);
  reset_signals();
  replace_by_null(STDIN_FILENO);
  ::dup2(streams.out.write_end.get(), STDOUT_FILENO);
  if (streams.errors.write_end) ::dup2(streams.errors.write_end.get(), STDERR_FILENO);
  for (const auto& [name, value] : program.environment) ::setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> words;
  for (const std::string& word : program.words) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  ::execvp(words[0], words.data());
  ::_exit(kExitNotFound);
}

class CapturedRun {
 public:
  using OnLine = std::function<Duration(const std::string&)>;

  CapturedRun(ChildProcess& child, Streams& streams, const OnLine& line)
      : child_(child), streams_(streams), line_(line) {}

  Result<CapturedEnd> run(Duration silence) {
    listen(streams_.out.read_end, [this](std::string_view bytes) { split(bytes); });
    listen(streams_.errors.read_end, [this](std::string_view bytes) { keep(bytes); });
    loop_.when_readable(child_.pidfd(), [this] { loop_.stop(); });
    be_patient(silence);
    PACELINE_TRY(loop_.run());
    loop_.forget_readable(child_.pidfd());
    end_.wait_status = child_.wait(std::chrono::milliseconds(0));
    if (!end_.wait_status) kill();
    PACELINE_TRY(end_descendants(clock_, Deadline::after(clock_, kClearingUp)));
    drain();
    return std::move(end_);
  }

 private:
  void listen(const UniqueFd& fd, std::function<void(std::string_view)> take) {
    if (!fd) return;
    ::fcntl(fd.get(), F_SETFL, O_NONBLOCK);
    readers_.push_back([this, number = fd.get(), take = std::move(take)] {
      std::array<char, 16384> bytes;
      const ssize_t got = ::read(number, bytes.data(), bytes.size());
      if (got > 0) take({bytes.data(), static_cast<std::size_t>(got)});
      if (got == 0) loop_.forget_readable(number);
      return got > 0;
    });
    loop_.when_readable(fd.get(), [read = readers_.back()] { read(); });
  }

  // Reaps it, so that its number is not taken for a process of the same number later.
  void kill() {
    ::kill(child_.pid(), SIGKILL);
    child_.wait(std::chrono::duration_cast<std::chrono::milliseconds>(kClearingUp));
  }

  // What was written before the end and has not been read yet.
  void drain() {
    for (const auto& read : readers_)
      while (read()) {
      }
  }

  void be_patient(Duration silence) {
    if (silence_) loop_.cancel(*silence_);
    silence_ = loop_.after(silence, [this] { loop_.stop(); });
  }

  void split(std::string_view bytes) {
    for (const char c : bytes) {
      if (c != '\n') {
        if (unfinished_.size() < kMaxLine) unfinished_ += c;
        continue;
      }
      be_patient(line_(unfinished_));
      unfinished_.clear();
    }
  }

  void keep(std::string_view bytes) {
    end_.errors += bytes;
    if (end_.errors.size() > kKeptErrors) end_.errors.erase(0, end_.errors.size() - kKeptErrors);
  }

  SystemClock clock_;
  EventLoop loop_{clock_};
  ChildProcess& child_;
  Streams& streams_;
  const OnLine& line_;
  std::vector<std::function<bool()>> readers_;
  std::optional<EventLoop::TimerId> silence_;
  std::string unfinished_;
  CapturedEnd end_;
};

}  // namespace

Result<CapturedEnd> run_captured(const CapturedProgram& program, Duration silence,
                                 const std::function<Duration(const std::string&)>& line) {
  Streams streams;
  PACELINE_TRY_ASSIGN(streams.out, make_pipe());
  if (!program.shows_errors) {
    PACELINE_TRY_ASSIGN(streams.errors, make_pipe());
  }
  const pid_t parent = ::getpid();
  PACELINE_TRY_ASSIGN(const auto child,
                      ChildProcess::fork([&](UniqueFd) { become(program, streams, parent); }));
  streams.out.write_end.reset();
  streams.errors.write_end.reset();
  return CapturedRun(*child, streams, line).run(silence);
}

}  // namespace paceline::launcher
