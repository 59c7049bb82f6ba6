// Handles exit() while communicators exist. They send their last messages and the library's threads
// stop before the exit handlers that these need. paceline/communicator.h (EXIT) states what
// programs may rely on.
//
// exit() runs handlers and destructors of static objects in the reverse order of registration. The
// first engine or store server of a process makes OpenSSL register its handler, unless the program
// has done so, and then registers this one. So this handler runs first. Destructors of static
// objects may run before or after it. A later call of a communicator gets an error.
//
// In a forked child the handler does not touch objects of the parent. _exit(), quick_exit() and
// signals end a process without the handler.
#pragma once

#include <chrono>

#include <paceline/status.h>

#include "comm/base/clock.h"

namespace paceline {

/// An object that exit() ends. Its functions are called once, on the thread that called exit().
class EndsAtExit {
 public:
  /// Time limit for all objects together.
  static constexpr Duration kMaxExitTime = std::chrono::seconds(5);

  /// Sends messages that peers need. Does not wait.
  virtual void leave_at_exit() {}
  /// Called after leave_at_exit() of all objects. When it returns, no thread of this object runs.
  virtual void stop_at_exit(Deadline deadline) = 0;

 protected:
  ~EndsAtExit() = default;
};

/// Code::kCancelled: the error of calls that an exit interrupts.
Status exit_error();

/// Registers the exit handler; later calls have no effect. Called before a process makes its first
/// engine or server. Code::kCancelled: the process is exiting. Code::kExhausted: no handler can be
/// registered.
Status prepare_for_exit();

/// Has the process called exit()?
bool is_process_exiting();

/// Registers the exit handler once more, so that it runs before handlers that were registered since
/// prepare_for_exit(), such as those of a driver.
void let_exit_handler_run_first();

/// Between enter() and leave(), exit() ends `who`; the object that entered last is ended first.
/// Call leave() before any part of `who` is destroyed, and without the engine's baton: it waits
/// while exit() ends objects.
class ExitEntry {
 public:
  ExitEntry() = default;
  ~ExitEntry() { leave(); }
  ExitEntry(const ExitEntry&) = delete;
  ExitEntry& operator=(const ExitEntry&) = delete;

  /// Called once.
  void enter(EndsAtExit& who);
  /// Later calls have no effect.
  void leave();

 private:
  EndsAtExit* who_ = nullptr;
};

/// Marks a short use of objects that exit handlers destroy. Exit handlers wait for its end. Any
/// thread.
class UseBeforeExit {
 public:
  UseBeforeExit();
  ~UseBeforeExit();
  UseBeforeExit(const UseBeforeExit&) = delete;
  UseBeforeExit& operator=(const UseBeforeExit&) = delete;

  /// False if the exit handler has already run.
  explicit operator bool() const { return is_in_time_; }

 private:
  bool is_in_time_;
};

}  // namespace paceline
