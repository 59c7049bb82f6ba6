// Looks at ranks for an agent, in a process of its own: it is forked before the agent has threads,
// so it can fork children that do what may hang (launcher/stacks/rank_look.h).
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "comm/base/clock.h"
#include "comm/base/function_ref.h"
#include "launcher/channel/frame.h"
#include "launcher/channel/messages.pb.h"
#include "launcher/system/event_loop.h"
#include "launcher/system/process.h"
#include "launcher/system/timer_group.h"

namespace paceline::launcher {

/// Belongs to the agent's thread. The process leads a process group, in which all its children are,
/// and ends with its parent. It loads libdw at the first request. SIGPIPE must be ignored.
class StackTaker {
 public:
  using Taken = std::function<void(const messages::StacksTaken&)>;

  /// Each request is answered within this time: the head waits for 5 s.
  static constexpr Duration kPatience = std::chrono::seconds(4);
  static constexpr std::size_t kMaxRequests = 4;

  /// Forks it; before the first thread. The process calls `leave` first, to give up what it has
  /// inherited.
  static Result<std::unique_ptr<StackTaker>> send(FunctionRef<void()> leave);
  ~StackTaker() { end(); }
  StackTaker(const StackTaker&) = delete;
  StackTaker& operator=(const StackTaker&) = delete;

  /// `taken` gets the answers. Once, before the first request.
  void open(EventLoop& loop, Taken taken);
  /// Requests are done in turn. Never waits.
  void take(messages::LookAtRanks request);
  bool is_busy() const { return !requests_.empty(); }
  /// The process; it has this number as long as this lives, also when it has ended.
  pid_t pid() const { return pid_; }
  /// Kills the process with its children, and does not wait: the kernel may not end them.
  void end();

 private:
  explicit StackTaker(std::unique_ptr<ChildProcess> process)
      : process_(std::move(process)), pid_(process_->pid()), socket_(process_->take_socket()) {}

  struct Request {
    messages::LookAtRanks message;
    Deadline deadline;
  };
  void send_next();
  void read_more();
  void answer(const messages::StacksTaken& taken);
  void give_up();
  void refuse(const messages::LookAtRanks& request, const std::string& why);
  void close();

  std::unique_ptr<ChildProcess> process_;  // null: it is not waited for any more
  const pid_t pid_;
  UniqueFd socket_;  // not open: the process has ended
  EventLoop* loop_ = nullptr;
  Taken taken_;
  std::deque<Request> requests_;  // the first one is sent
  bool is_late_ = false;          // an answer has not come in time, and may come still
  FrameDecoder decoder_;
  std::unique_ptr<TimerGroup> timers_;
};

}  // namespace paceline::launcher
