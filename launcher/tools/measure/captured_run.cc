#include "launcher/tools/measure/captured_run.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/base/try.h"
#include "launcher/system/descriptors.h"
#include "launcher/system/event_loop.h"
#include "launcher/system/exit_status.h"
#include "launcher/system/process.h"
#include "launcher/system/system.h"

namespace paceline::launcher {
namespace {

constexpr Duration kClearingUp = std::chrono::seconds(10);
constexpr std::size_t kMaxLine = 4096;
constexpr std::size_t kKeptErrors = 4096;

struct Streams {
  UniqueFd told, listening;  // two ends of one; closed where it does not listen
  Pipe out;
  Pipe errors;  // closed where they are shown
};

// A pipe would end this process by SIGPIPE where the other one has ended.
Status make_ears(Streams& streams) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return system_error("make a socket for input of a program");
  streams.told = UniqueFd(ends[0]);
  streams.listening = UniqueFd(ends[1]);
  return {};
}

[[noreturn]] void become(const CapturedProgram& program, const Streams& streams, pid_t parent) {
  die_with(parent);
  reset_signals();
  if (streams.listening)
    ::dup2(streams.listening.get(), STDIN_FILENO);
  else
    replace_by_null(STDIN_FILENO);
  ::dup2(streams.out.write_end.get(), STDOUT_FILENO);
  if (streams.errors.write_end) ::dup2(streams.errors.write_end.get(), STDERR_FILENO);
  for (const auto& [name, value] : program.environment) ::setenv(name.c_str(), value.c_str(), 1);
  if (const auto* const body = std::get_if<CapturedProgram::Body>(&program.runs)) {
    close_as_exec();  // among them ends of the streams of others
    ::_exit((*body)());
  }
  const std::vector<char*> words = exec_words(std::get<CapturedProgram::Words>(program.runs));
  ::execvp(words[0], words.data());
  ::_exit(kExitNotFound);
}

class CapturedRuns {
 public:
  CapturedRuns(std::span<const CapturedProgram> programs, const OnCapturedLine& line)
      : programs_(programs), line_(line), ends_(programs.size()) {}

  Result<std::vector<CapturedEnd>> run(Duration silence) {
    start_next();
    be_patient(silence);
    if (refused_.ok()) PACELINE_TRY(loop_.run());
    for (auto& running : running_) kill(*running);
    PACELINE_TRY(end_descendants(clock_, Deadline::after(clock_, kClearingUp)));
    PACELINE_TRY(refused_);
    for (auto& running : running_) running->drain();
    return std::move(ends_);
  }

 private:
  // A program that runs or has run.
  struct Running {
    std::size_t which = 0;
    std::unique_ptr<ChildProcess> child;
    Streams streams;
    std::string unfinished;  // line
    std::vector<std::function<bool()>> readers;

    // What was written before the end and has not been read yet.
    void drain() const {
      for (const auto& read : readers)
        while (read()) {
        }
    }
  };

  void start_next() {
    if (running_.size() == programs_.size()) return;
    refused_ = start(running_.size());
    if (!refused_.ok()) loop_.stop();
  }

  Status start(std::size_t which) {
    const CapturedProgram& program = programs_[which];
    auto running = std::make_unique<Running>();
    running->which = which;
    Streams& streams = running->streams;
    if (program.listens) PACELINE_TRY(make_ears(streams));
    PACELINE_TRY_ASSIGN(streams.out, make_pipe());
    if (!program.shows_errors) {
      PACELINE_TRY_ASSIGN(streams.errors, make_pipe());
    }
    const pid_t parent = ::getpid();
    PACELINE_TRY_ASSIGN(running->child,
                        ChildProcess::fork([&](UniqueFd) { become(program, streams, parent); }));
    streams.listening.reset();
    streams.out.write_end.reset();
    streams.errors.write_end.reset();
    Running& started = *running_.emplace_back(std::move(running));
    listen(started, streams.out.read_end,
           [this, &started](std::string_view bytes) { split(started, bytes); });
    listen(started, streams.errors.read_end,
           [this, which](std::string_view bytes) { keep(ends_[which].errors, bytes); });
    loop_.when_readable(started.child->pidfd(), [this, &started] { note_end(started); });
    return {};
  }

  void listen(Running& running, const UniqueFd& fd, std::function<void(std::string_view)> take) {
    if (!fd) return;
    ::fcntl(fd.get(), F_SETFL, O_NONBLOCK);
    running.readers.push_back([this, number = fd.get(), take = std::move(take)] {
      std::array<char, 16384> bytes;
      const ssize_t got = ::read(number, bytes.data(), bytes.size());
      if (got > 0) take({bytes.data(), static_cast<std::size_t>(got)});
      if (got == 0) loop_.forget_readable(number);
      return got > 0;
    });
    loop_.when_readable(fd.get(), [read = running.readers.back()] { read(); });
  }

  void note_end(Running& running) {
    loop_.forget_readable(running.child->pidfd());
    auto& status = ends_[running.which].wait_status;
    status = running.child->wait(std::chrono::milliseconds(0));
    ++ended_;
    if (ended_ == programs_.size() || !status || *status != 0) loop_.stop();
  }

  // Reaps it, so that its number is not taken for a process of the same number later.
  void kill(Running& running) {
    if (ends_[running.which].wait_status) return;
    ::kill(running.child->pid(), SIGKILL);
    running.child->wait(std::chrono::duration_cast<std::chrono::milliseconds>(kClearingUp));
  }

  void be_patient(Duration silence) {
    if (silence_) loop_.cancel(*silence_);
    silence_ = loop_.after(silence, [this] { loop_.stop(); });
  }

  void split(Running& running, std::string_view bytes) {
    for (const char c : bytes) {
      if (c != '\n') {
        if (running.unfinished.size() < kMaxLine) running.unfinished += c;
        continue;
      }
      const CapturedAnswer answer = line_(running.which, running.unfinished);
      running.unfinished.clear();
      be_patient(answer.silence);
      if (answer.starts_next) start_next();
      if (answer.tells) tell(*answer.tells);
    }
  }

  // Whoever has ended hears nothing: that it has is noticed elsewhere.
  void tell(const CapturedWord& word) {
    const std::string line = word.line + "\n";
    ::send(running_[word.whom]->streams.told.get(), line.data(), line.size(),
           MSG_NOSIGNAL | MSG_DONTWAIT);
  }

  static void keep(std::string& errors, std::string_view bytes) {
    errors += bytes;
    if (errors.size() > kKeptErrors) errors.erase(0, errors.size() - kKeptErrors);
  }

  SystemClock clock_;
  EventLoop loop_{clock_};
  std::span<const CapturedProgram> programs_;
  const OnCapturedLine& line_;
  std::vector<std::unique_ptr<Running>> running_;  // those that were started
  std::size_t ended_ = 0;
  Status refused_;  // why one could not be started
  std::optional<EventLoop::TimerId> silence_;
  std::vector<CapturedEnd> ends_;
};

}  // namespace

Result<std::vector<CapturedEnd>> run_captured(std::span<const CapturedProgram> programs,
                                              Duration silence, const OnCapturedLine& line) {
  return CapturedRuns(programs, line).run(silence);
}

}  // namespace paceline::launcher
