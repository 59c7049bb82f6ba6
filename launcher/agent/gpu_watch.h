// How the GPUs of the agent's host are used, read in a process of its own: a driver that is asked
// may take seconds, never answer, or crash.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "comm/base/clock.h"
#include "comm/base/function_ref.h"
#include "launcher/channel/frame.h"
#include "launcher/channel/messages.pb.h"
#include "launcher/system/event_loop.h"
#include "launcher/system/process.h"
#include "topology/read/nvml_library.h"

namespace paceline::launcher {

/// Belongs to the agent's thread. The process ends with its parent, and where there is no GPU of
/// NVIDIA.
class GpuWatch {
 public:
  using Gpus = google::protobuf::RepeatedPtrField<messages::GpuMeasured>;

  /// Older figures are unknown.
  static constexpr Duration kPatience = std::chrono::seconds(3);

  /// Forks it; before the first thread. The process calls `leave` first, to give up what it has
  /// inherited. It loads the library at the first question.
  static Result<std::unique_ptr<GpuWatch>> send(
      FunctionRef<void()> leave, const std::string& library = topology::kNvmlLibrary);
  ~GpuWatch() { end(); }
  GpuWatch(const GpuWatch&) = delete;
  GpuWatch& operator=(const GpuWatch&) = delete;

  /// Asks once more, unless an answer is awaited. Call it about once a second. Never waits.
  void ask(EventLoop& loop);
  /// As the driver last said; empty: there are none, or it has not answered for kPatience.
  Gpus gpus(TimePoint now) const;
  /// Kills the process, and does not wait: a driver that hangs may keep it. Returns its number.
  pid_t end();

 private:
  explicit GpuWatch(std::unique_ptr<ChildProcess> process)
      : process_(std::move(process)), socket_(process_->take_socket()) {}

  void read_more();
  void close();

  std::unique_ptr<ChildProcess> process_;  // null: it has been reaped
  UniqueFd socket_;                        // not open: nothing more will come
  EventLoop* loop_ = nullptr;              // once it was asked
  bool is_asked_ = false;
  FrameDecoder decoder_;
  Gpus gpus_;
  std::optional<TimePoint> answered_;
};

}  // namespace paceline::launcher
