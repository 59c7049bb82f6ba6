#include "launcher/agent/input_pipe.h"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "comm/base/try.h"
#include "launcher/system/system.h"

namespace paceline::launcher {

Result<std::unique_ptr<InputPipe>> InputPipe::make(EventLoop& loop, Taken taken,
                                                   UniqueFd& read_end) {
  PACELINE_TRY_ASSIGN(Pipe pipe, make_pipe());
  ::fcntl(pipe.write_end.get(), F_SETFL, O_NONBLOCK);
  read_end = std::move(pipe.read_end);
  return over(loop, std::move(taken), std::move(pipe.write_end));
}

std::unique_ptr<InputPipe> InputPipe::over(EventLoop& loop, Taken taken, UniqueFd write_end) {
  return std::unique_ptr<InputPipe>(new InputPipe(loop, std::move(taken), std::move(write_end)));
}

InputPipe::InputPipe(EventLoop& loop, Taken taken, UniqueFd write_end)
    : loop_(loop), taken_(std::move(taken)), write_end_(std::move(write_end)) {}

InputPipe::~InputPipe() { close(); }

void InputPipe::write(std::string_view text) {
  if (!write_end_ || ends_) return;
  queue_ += text;
  write_some();
}

void InputPipe::end() {
  ends_ = true;
  if (queue_.empty()) close();
}

void InputPipe::write_some() {
  const ssize_t put = ::write(write_end_.get(), queue_.data(), queue_.size());
  if (put < 0 && errno != EAGAIN && errno != EINTR) {
    close();
    return taken_(0, true);
  }
  if (put > 0) queue_.erase(0, static_cast<std::size_t>(put));
  if (!queue_.empty()) {
    loop_.when_writable(write_end_.get(), [this] { write_some(); });
  } else {
    loop_.forget_writable(write_end_.get());
    if (ends_) close();
  }
  if (put > 0) taken_(static_cast<std::size_t>(put), false);
}

void InputPipe::close() {
  if (!write_end_) return;
  loop_.forget_writable(write_end_.get());
  write_end_.reset();
  queue_.clear();
}

}  // namespace paceline::launcher
