// exit() while communicators live: their last words are said, and the library's threads have
// stopped, before the exit handlers run that they need. paceline/communicator.h (Exit) says what
// programs may count on.
//
// exit() runs handlers and destructors of static objects in the reverse order of registration. The
// first engine or store server of a process lets OpenSSL register its handler, where the program
// has not done so, and registers its own after it: so this one runs first. Destructors of static
// objects may come before or after it; what still calls a communicator afterwards gets an error.
//
// A handler of a forked child leaves alone what its parent has made. _exit(), quick_exit() and
// signals end a process without any of this.
#pragma once

#include <chrono>

#include <paceline/status.h>

#include "comm/base/clock.h"

namespace paceline {

/// What exit() ends. Its functions are called once, on the thread that called exit().
class EndsAtExit {
 public:
  /// How long all of them together may take.
  static constexpr Duration kMaxExitTime = std::chrono::seconds(5);

  /// Says what others must hear, and waits for nothing.
  virtual void leave_at_exit() {}
  /// Everybody has left. When it returns no thread of this one runs.
  virtual void stop_at_exit(Deadline deadline) = 0;

 protected:
  ~EndsAtExit() = default;
};

/// Code::kCancelled: for calls that an exit has cut short.
Status exit_error();

/// Before a process's engine or server is made; again does nothing. Code::kCancelled when the
/// process is exiting, Code::kExhausted where no handler can be registered.
Status prepare_for_exit();

/// Between enter() and leave() exit() ends `who`, those that came last first. leave() comes before
/// anything of `who` is destroyed, and without the engine's baton: it waits while exit() ends them.
class ExitEntry {
 public:
  ExitEntry() = default;
  ~ExitEntry() { leave(); }
  ExitEntry(const ExitEntry&) = delete;
  ExitEntry& operator=(const ExitEntry&) = delete;

  /// Once.
  void enter(EndsAtExit& who);
  /// Again does nothing.
  void leave();

 private:
  EndsAtExit* who_ = nullptr;
};

/// A short use of what exit handlers tear down, by any thread: they wait for its end.
class UseBeforeExit {
 public:
  UseBeforeExit();
  ~UseBeforeExit();
  UseBeforeExit(const UseBeforeExit&) = delete;
  UseBeforeExit& operator=(const UseBeforeExit&) = delete;

  /// False when it is too late.
  explicit operator bool() const { return is_in_time_; }

 private:
  bool is_in_time_;
};

}  // namespace paceline
