#include "launcher/agent/gpu_watch.h"

#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/base/try.h"
#include "launcher/channel/figure_messages.h"
#include "launcher/system/descriptors.h"
#include "launcher/system/system.h"
#include "topology/read/nvml_use.h"

namespace paceline::launcher {
namespace {

messages::GpuMeasured measured_of(const topology::GpuUse& use) {
  messages::GpuMeasured gpu;
  gpu.set_number(static_cast<std::uint32_t>(use.number));
  gpu.set_name(use.name);
  gpu.set_uuid(use.uuid);
  GpuFigures figures;
  figures.set(GpuFigure::kBusy, use.busy);
  figures.set(GpuFigure::kMemory, use.memory_bytes);
  figures.set(GpuFigure::kMemoryUsed, use.used_bytes);
  figures.set(GpuFigure::kPower, use.power_watts);
  figures.set(GpuFigure::kSmClock, use.sm_clock_hertz);
  figures.set(GpuFigure::kTemperature, use.temperature_celsius);
  figures.set(GpuFigure::kCorrectedErrors, use.corrected_errors);
  figures.set(GpuFigure::kUncorrectedErrors, use.uncorrected_errors);
  figures.set(GpuFigure::kClockLimits, use.clock_limits);
  add_figures(figures, *gpu.mutable_figures());
  return gpu;
}

// Answers each byte by a frame. An error says that the agent has gone.
void answer_questions(int socket, const std::string& library) {
  std::unique_ptr<topology::GpuMeter> meter;
  for (char question = 0; ::read(socket, &question, 1) == 1;) {
    if (meter == nullptr) {
      auto opened = topology::GpuMeter::open(library);
      if (!opened.ok()) return;
      meter = *std::move(opened);
    }
    messages::HostMeasured answer;
    for (const topology::GpuUse& use : meter->read()) *answer.add_gpus() = measured_of(use);
    const Result<std::string> frame = encode_frame(answer.SerializeAsString());
    if (!frame.ok() || !write_all(socket, *frame)) return;
  }
}

}  // namespace

Result<std::unique_ptr<GpuWatch>> GpuWatch::send(FunctionRef<void()> leave,
                                                 const std::string& library) {
  const pid_t agent = ::getpid();
  PACELINE_TRY_ASSIGN(auto process, ChildProcess::fork([&](UniqueFd socket) {
                        die_with(agent);
                        leave();
                        replace_by_null(STDIN_FILENO);
                        replace_by_null(STDOUT_FILENO);
                        // The spawn helper must see the end of the agent\'s socket.
                        close_all_but(socket.get());
                        answer_questions(socket.get(), library);
                      }));
  return std::unique_ptr<GpuWatch>(new GpuWatch(std::move(process)));
}

void GpuWatch::ask(EventLoop& loop) {
  if (!socket_ && process_ && process_->wait(std::chrono::milliseconds(0))) process_.reset();
  if (!socket_ || is_asked_) return;
  if (std::exchange(loop_, &loop) == nullptr)
    loop.when_readable(socket_.get(), [this] { read_more(); });
  is_asked_ = ::send(socket_.get(), "?", 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1;
}

void GpuWatch::read_more() {
  std::array<char, 65536> part;
  const ssize_t got = ::read(socket_.get(), part.data(), part.size());
  if (got < 0 && errno == EINTR) return;
  if (got <= 0) return close();
  decoder_.append({part.data(), static_cast<std::size_t>(got)});
  const auto payload = decoder_.next();
  messages::HostMeasured answer;
  if (!payload.ok()) return close();
  if (!payload->has_value()) return;
  if (!answer.ParseFromArray((*payload)->data(), static_cast<int>((*payload)->size())))
    return close();
  gpus_ = std::move(*answer.mutable_gpus());
  answered_ = loop_->clock().now();
  is_asked_ = false;
}

GpuWatch::Gpus GpuWatch::gpus(TimePoint now) const {
  return answered_ && now - *answered_ <= kPatience ? gpus_ : Gpus();
}

void GpuWatch::close() {
  if (!socket_) return;
  if (loop_ != nullptr) loop_->forget_readable(socket_.get());
  socket_.reset();
}

pid_t GpuWatch::end() {
  close();
  if (!process_) return 0;
  const pid_t process = process_->pid();
  process_->kill_and_leave();
  process_.reset();
  return process;
}

}  // namespace paceline::launcher
