#include "launcher/stacks/bounded_child.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comm/base/try.h"
#include "launcher/system/process.h"
#include "launcher/system/process_identity.h"
#include "launcher/system/system.h"

namespace paceline::launcher {
namespace {

// The first byte of each frame.
constexpr char kText = 't', kDone = 'd';

bool send_frame(int pipe, const std::string& payload) {
  const Result<std::string> frame = encode_frame(payload);
  return frame.ok() && write_all(pipe, *frame);
}

}  // namespace

Result<std::unique_ptr<BoundedChild>> BoundedChild::start(FunctionRef<void(Send)> body) {
  PACELINE_TRY_ASSIGN(Pipe pipe, make_pipe());
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return system_error("fork a process that looks at others");
  if (pid == 0) {
    die_with(parent);
    pipe.read_end.reset();
    const int end = pipe.write_end.get();
    body([end](const std::string& text) { return send_frame(end, kText + text); });
    send_frame(end, std::string(1, kDone));
    ::_exit(0);
  }
  UniqueFd pidfd = open_pidfd(pid);
  ::fcntl(pipe.read_end.get(), F_SETFL, O_NONBLOCK);
  return std::unique_ptr<BoundedChild>(
      new BoundedChild(pid, std::move(pidfd), std::move(pipe.read_end)));
}

// Its number is its own while it has not been reaped. Without a pidfd it may have been.
BoundedChild::~BoundedChild() {
  pipe_.reset();
  if (pidfd_) send_signal(pidfd_, SIGKILL);
  ::waitpid(pid_, nullptr, WNOHANG);
}

void BoundedChild::read_more() {
  std::array<char, 65536> part;
  const ssize_t got = ::read(pipe_.get(), part.data(), part.size());
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (got <= 0) return pipe_.reset();
  decoder_.append({part.data(), static_cast<std::size_t>(got)});
  for (;;) {
    const auto payload = decoder_.next();
    if (!payload.ok()) return pipe_.reset();
    if (!payload->has_value()) return;
    const std::string_view text = **payload;
    if (text.starts_with(kText)) said_ = std::string(text.substr(1));
    if (text.starts_with(kDone)) is_done_ = true;
  }
}

void BoundedChild::wait_for(std::span<const std::unique_ptr<BoundedChild>> children,
                            const Clock& clock, Deadline deadline) {
  for (;;) {
    std::vector<pollfd> polled;
    std::vector<BoundedChild*> open;
    for (const auto& child : children) {
      if (child == nullptr || !child->pipe_ || child->is_done_) continue;
      open.push_back(child.get());
      polled.push_back({.fd = child->pipe_.get(), .events = POLLIN, .revents = 0});
    }
    const Duration left = deadline.left(clock.now());
    if (open.empty() || left == Duration::zero()) return;
    const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    if (::poll(polled.data(), polled.size(), static_cast<int>(milliseconds)) < 0) continue;
    for (std::size_t i = 0; i < open.size(); ++i)
      if (polled[i].revents != 0) open[i]->read_more();
  }
}

}  // namespace paceline::launcher
