// A handle on an operation that goes on in the background.
//
//   paceline::Work work = communicator.all_reduce_async(std::span(gradients));
//   compute_something_else();
//   work.wait().value();
#pragma once

#include <chrono>
#include <memory>

#include <paceline/status.h>

namespace paceline {

class Engine;
struct Completion;

/// Copies refer to the same operation. Dropping every handle does not stop it: its buffers must
/// stay valid until it has ended. Each operation ends exactly once: success, a named error, or
/// cancelled, also when its Communicator is destroyed first. Any thread may call any member. In a
/// forked child an operation of the parent never ends: test() is true, wait() is refused at once
/// with Code::kInvalidArgument, and cancel() does nothing.
class Work {
 public:
  Work() = default;  ///< refers to nothing; test() is true and wait() succeeds at once
  Work(std::shared_ptr<Engine> engine, std::shared_ptr<const Completion> completion);

  /// Has it ended? Never blocks.
  bool test() const;
  /// Waits until it has ended and returns how; the operation's own deadline bounds the wait.
  Status wait() const;
  /// As wait(), but gives up with Code::kTimeout and Scope::kNone after `timeout`; the operation
  /// goes on and may be waited for again.
  Status wait_for(std::chrono::nanoseconds timeout) const;
  /// An operation that has not ended ends with Code::kCancelled, and its Communicator with it, on
  /// every rank, as after any other error: the other ranks wait for what this one owes them. Its
  /// buffers are free when wait() has returned. Nothing for one that has ended.
  void cancel() const;

 private:
  std::shared_ptr<Engine> engine_;                // owners: communicators, works, the caller
  std::shared_ptr<const Completion> completion_;  // owners: the running operation and its handles
};

}  // namespace paceline
