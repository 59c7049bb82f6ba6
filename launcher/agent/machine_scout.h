// Finds out what machine the agent's host is, in a process of its own: drivers and libraries that
// are asked for devices may take seconds, keep threads, or crash.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <paceline/status.h>

#include "comm/base/function_ref.h"
#include "launcher/channel/messages.pb.h"
#include "launcher/system/event_loop.h"
#include "launcher/system/process.h"

namespace paceline::launcher {

/// Belongs to the agent's thread.
class MachineScout {
 public:
  /// A driver that initializes eight GPUs takes some seconds.
  static constexpr Duration kPatience = std::chrono::seconds(20);

  /// Forks it; before the first thread. The process calls `leave` first, to give up what it has
  /// inherited. It ends with its parent.
  static Result<std::unique_ptr<MachineScout>> send(FunctionRef<void()> leave);
  ~MachineScout();

  /// Calls `back` once, with digest and machine, or with why there are none. Not after the scout
  /// has gone.
  void await(EventLoop& loop, std::function<void(messages::Described)> back);

 private:
  explicit MachineScout(std::unique_ptr<ChildProcess> process)
      : process_(std::move(process)), socket_(process_->take_socket()) {}

  void kill();
  void read_more();
  void end(messages::Described described);
  void stop_waiting();

  std::unique_ptr<ChildProcess> process_;
  UniqueFd socket_;
  std::string bytes_;
  EventLoop* loop_ = nullptr;  // while it is awaited
  std::function<void(messages::Described)> back_;
  EventLoop::TimerId patience_{};
};

}  // namespace paceline::launcher
