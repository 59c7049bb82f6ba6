// A handle to an operation that runs in the background.
//
// Example:
//   paceline::Work work = world.all_reduce_async(std::span(gradients));
//   load_next_batch();
//   work.wait().value();
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>

#include <paceline/status.h>

namespace paceline {

class Engine;
struct WorkCompletion;

/// Copies refer to the same operation. Destroying every handle does not stop the operation: its
/// buffers must stay valid until it has ended. Each operation ends exactly once, with success or an
/// error, also if its Communicator is destroyed first. Any thread may call any member.
/// In a forked child an operation of the parent never ends: test() is true, wait() returns
/// Code::kInvalidArgument, cancel() has no effect.
class Work {
 public:
  Work() = default;  ///< refers to no operation; test() is true and wait() succeeds at once
  Work(std::shared_ptr<Engine> engine, std::shared_ptr<const WorkCompletion> completion);

  /// True if the operation has ended. Never blocks.
  bool test() const;
  /// Waits until the operation has ended, at the latest by its own timeout. Returns its outcome.
  Status wait() const;
  /// Waits like wait(), but at most `timeout`, then returns Code::kTimeout with Scope::kNone. The
  /// operation goes on, and the caller may wait again.
  Status wait_for(std::chrono::nanoseconds timeout) const;
  /// Lets a stream of the device wait for the operation: what is enqueued there from now on begins
  /// after it. Returns once the device has all that it must do for that. If the CPU carries the
  /// operation out, this is when the last copy back is enqueued. `stream` is a cudaStream_t of the
  /// device whose memory the operation uses; null: its default stream. For an operation on host
  /// memory the same as wait(). The outcome of the operation, if it is known; else wait() has it.
  Status wait_on(void* stream) const;
  /// Ends the operation with Code::kCancelled, and its Communicator with it, on every rank: the
  /// other ranks cannot finish without this one. The buffers may be reused after wait() has
  /// returned. Has no effect on an operation that has ended.
  void cancel() const;

 private:
  std::shared_ptr<Engine> engine_;  // owners: communicators, works, the caller
  /// Owners: the running operation and its handles.
  std::shared_ptr<const WorkCompletion> completion_;

  friend std::size_t wait_any(std::span<const Work> works);
};

/// Waits until all have ended. Returns the first error in the order of `works`.
Status wait_all(std::span<const Work> works);
/// Waits until one has ended, and returns the index of the first that has; works.size() if there is
/// none. Its wait() returns the outcome at once. Works may be of different communicators.
std::size_t wait_any(std::span<const Work> works);

}  // namespace paceline
