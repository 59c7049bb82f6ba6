// A program that starts agents, while it runs.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include <paceline/status.h>

#include "comm/base/unique_fd.h"
#include "launcher/system/event_loop.h"

namespace paceline::launcher {

/// Gets `input` on its standard input; its standard output goes nowhere. It has a session of its
/// own, so that it cannot ask a terminal, and dies with the thread that started it. Belongs to the
/// loop's thread, which may start it while the process has other threads.
class LaunchProgram {
 public:
  struct Options {
    std::vector<std::string> command;
    std::vector<std::string> environment{};  ///< "NAME=value"; empty: that of this process
    std::string input;
    bool input_stays_open = true;                     ///< until close_input()
    std::function<void(std::string_view line)> said;  ///< a line of its standard error
    /// Once, after its last line; the program may be destroyed then, but not in the handler.
    std::function<void(int wait_status)> ended;
  };

  /// SIGPIPE must be ignored. An error says why it cannot be executed.
  static Result<std::unique_ptr<LaunchProgram>> start(EventLoop& loop, Options options);
  /// Kills it and its process group, and reaps it.
  ~LaunchProgram();
  LaunchProgram(const LaunchProgram&) = delete;
  LaunchProgram& operator=(const LaunchProgram&) = delete;

  void close_input();
  void kill();
  /// Readable once it has ended.
  int pidfd() const { return pidfd_.get(); }

 private:
  LaunchProgram(EventLoop& loop, Options options) : loop_(loop), options_(std::move(options)) {}
  Status fork(const std::string& path);
  void watch();
  void write_input();
  /// False when there is nothing now.
  bool read_error();
  void say_whole_lines();
  void reap();

  EventLoop& loop_;
  const Options options_;
  pid_t pid_ = 0;  // 0: reaped
  UniqueFd pidfd_;
  UniqueFd input_;
  UniqueFd error_;
  std::size_t written_ = 0;
  std::string line_;  // that has begun
};

}  // namespace paceline::launcher
