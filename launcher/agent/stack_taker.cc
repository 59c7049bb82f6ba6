#include "launcher/agent/stack_taker.h"

#include <array>
#include <cerrno>
#include <utility>

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "comm/base/text.h"
#include "comm/base/try.h"
#include "launcher/stacks/native_stacks.h"
#include "launcher/stacks/rank_look.h"
#include "launcher/system/descriptors.h"
#include "launcher/system/system.h"

namespace paceline::launcher {
namespace {

// The process answers so much earlier, and the agent reads the answer in that time.
constexpr Duration kToRead = std::chrono::milliseconds(300);
// Children that were killed and have not ended. More of them would fill the host.
constexpr std::size_t kMaxHanging = 16;

messages::StacksTaken answer_to(const messages::LookAtRanks& request,
                                std::optional<Result<const StacksModule*>>& native,
                                const Clock& clock) {
  if (const std::size_t hanging = children().size(); hanging > kMaxHanging)
    return failed_stacks(request, count_text(hanging, "process") +
                                      " of earlier requests hang in the kernel, so no more are "
                                      "started");
  if (!native) native = load_stacks_module();
  return look_at_ranks(request, *native, clock);
}

// An error says that the agent has gone.
void serve_requests(int socket) {
  const SystemClock clock;
  std::optional<Result<const StacksModule*>> native;
  FrameDecoder decoder;
  std::array<char, 4096> part;
  for (ssize_t got = 0; (got = ::read(socket, part.data(), part.size())) > 0;) {
    decoder.append({part.data(), static_cast<std::size_t>(got)});
    for (;;) {
      const auto payload = decoder.next();
      if (!payload.ok()) return;
      if (!payload->has_value()) break;
      messages::LookAtRanks request;
      if (!request.ParseFromArray((*payload)->data(), static_cast<int>((*payload)->size()))) return;
      const auto frame = encode_frame(answer_to(request, native, clock).SerializeAsString());
      if (!frame.ok() || !write_all(socket, *frame)) return;
    }
  }
}

}  // namespace

Result<std::unique_ptr<StackTaker>> StackTaker::send(FunctionRef<void()> leave) {
  const pid_t agent = ::getpid();
  PACELINE_TRY_ASSIGN(auto process, ChildProcess::fork([&](UniqueFd socket) {
                        die_with(agent);
                        ::setpgid(0, 0);
                        // Shown by ps and top; the agent goes on without it.
                        ::prctl(PR_SET_NAME, "paceline-stacks");
                        leave();
                        replace_by_null(STDIN_FILENO);
                        replace_by_null(STDOUT_FILENO);
                        // The spawn helper must see the end of the agent's socket.
                        close_all_but(socket.get());
                        // Children are reaped by the kernel, and orphans of theirs come here.
                        ::signal(SIGCHLD, SIG_IGN);
                        ::prctl(PR_SET_CHILD_SUBREAPER, 1);
                        serve_requests(socket.get());
                      }));
  return std::unique_ptr<StackTaker>(new StackTaker(std::move(process)));
}

void StackTaker::open(EventLoop& loop, Taken taken) {
  loop_ = &loop;
  taken_ = std::move(taken);
  timers_ = std::make_unique<TimerGroup>(loop);
  loop.when_readable(socket_.get(), [this] { read_more(); });
}

void StackTaker::take(messages::LookAtRanks request) {
  if (!socket_) return refuse(request, "the process that takes stacks has ended");
  if (is_late_) return refuse(request, "the process that takes stacks does not answer");
  if (requests_.size() >= kMaxRequests)
    return refuse(request, "too many requests for stacks wait; try again later");
  requests_.push_back(
      {.message = std::move(request), .deadline = Deadline::after(loop_->clock(), kPatience)});
  if (requests_.size() == 1) send_next();
}

// The time that a request has waited is part of its patience.
void StackTaker::send_next() {
  if (requests_.empty()) return;
  Request& next = requests_.front();
  const Duration left = next.deadline.left(loop_->clock().now());
  next.message.set_patience_ns((left - kToRead).count());
  const auto frame = encode_frame(next.message.SerializeAsString());
  errno = 0;
  const bool is_sent = frame.ok() && left > 2 * kToRead && write_all(socket_.get(), *frame);
  if (!is_sent && (errno == EPIPE || errno == ECONNRESET)) return close();
  if (!is_sent) {
    refuse(next.message, "the process that takes stacks is busy with other requests");
    requests_.pop_front();
    return send_next();
  }
  timers_->after(left, [this] { give_up(); });
}

void StackTaker::read_more() {
  std::array<char, 65536> part;
  const ssize_t got = ::read(socket_.get(), part.data(), part.size());
  if (got < 0 && errno == EINTR) return;
  if (got <= 0) return close();
  decoder_.append({part.data(), static_cast<std::size_t>(got)});
  for (;;) {
    const auto payload = decoder_.next();
    messages::StacksTaken taken;
    if (!payload.ok()) return close();
    if (!payload->has_value()) return;
    if (!taken.ParseFromArray((*payload)->data(), static_cast<int>((*payload)->size())))
      return close();
    answer(taken);
  }
}

void StackTaker::answer(const messages::StacksTaken& taken) {
  is_late_ = false;
  if (requests_.empty() || requests_.front().message.number() != taken.number()) return;
  timers_->cancel();
  requests_.pop_front();
  taken_(taken);
  send_next();
}

void StackTaker::give_up() {
  is_late_ = true;
  for (auto waiting = std::exchange(requests_, {}); const Request& request : waiting)
    refuse(request.message, "the process that takes stacks has not answered");
}

void StackTaker::refuse(const messages::LookAtRanks& request, const std::string& why) {
  taken_(failed_stacks(request, why));
}

void StackTaker::close() {
  if (!socket_) return;
  if (loop_ != nullptr) loop_->forget_readable(socket_.get());
  if (timers_) timers_->cancel();
  socket_.reset();
  for (auto waiting = std::exchange(requests_, {}); const Request& request : waiting)
    refuse(request.message, "the process that takes stacks has ended");
}

void StackTaker::end() {
  taken_ = [](const messages::StacksTaken&) {};
  close();
  if (!process_) return;
  ::kill(-pid_, SIGKILL);
  process_->kill_and_leave();
  process_.reset();
}

}  // namespace paceline::launcher
