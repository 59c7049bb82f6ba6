#include "collectives/communicator_core.h"

#include <string>
#include <utility>

#include "collectives/requests.h"
#include "comm/base/argument_error.h"
#include "comm/base/try.h"
#include "comm/completion.h"

namespace paceline {
namespace {

// The longest time that a destructor waits for its last message. The message gives up before.
constexpr Duration kLeavingTime = std::chrono::seconds(5);
// How much longer a blocking call waits than until its operation's deadline, which ends it.
constexpr Duration kBeyondDeadline = std::chrono::seconds(60);

}  // namespace

CommunicatorCore::CommunicatorCore(Parts parts, std::unique_ptr<CommunicatorCore> control)
    : control_(std::move(control)),
      held_(std::move(parts)),
      device_(held_, this->parts().devices),
      engine_(*this->parts().engine) {
  exit_entry_.enter(*this);
}

CommunicatorCore::~CommunicatorCore() {
  exit_entry_.leave();
  {
    const Engine::Baton baton = engine_.hold();
    held_.leave("destroyed its communicator",
                Status(Code::kCancelled, Scope::kGroup, "the communicator was destroyed"));
  }
  device_.leave();
  (void)wait_for_last_message(Deadline::after(engine_.clock(), kLeavingTime));
}

bool CommunicatorCore::wait_for_last_message(Deadline deadline) {
  return engine_.wait([this] { return !held_.is_flushing(); }, deadline);
}

bool CommunicatorCore::overlaps(OperationKind kind, std::size_t bytes) const {
  return held_.queue()
      .backend_for({.count = bytes, .kind = kind, .type = DataType::kUInt8})
      .overlaps();
}

std::uint64_t CommunicatorCore::operations_begun() const {
  const Engine::Baton baton = engine_.hold();
  return held_.queue().history().begun();
}

CommunicatorStats CommunicatorCore::stats() const {
  if (is_of_another_process()) return {};
  const Engine::Baton baton = engine_.hold();
  return held_.stats();
}

Status CommunicatorCore::run(OperationRequest&& request) {
  if (is_of_another_process()) [[unlikely]]
    return refuse_child();
  if (const auto on_device = start_on_device(request)) [[unlikely]]
    return on_device->wait();
  return run_on_host(std::move(request));
}

Status CommunicatorCore::run_on_host(OperationRequest&& request) {
  Completion completion;
  Duration timeout{};
  {
    const Engine::Baton baton = engine_.hold();
    timeout = held_.queue().timeout();
    held_.serve_at_times();
    if (held_.run(request, completion)) return std::move(completion.status);
  }
  const auto ended = [&completion] { return completion.has_ended(); };
  if (!engine_.wait(ended, Deadline::after(engine_.clock(), timeout + kBeyondDeadline))) {
    if (engine_.is_stopped()) end_with_process();
    const Engine::Baton baton = engine_.hold();
    held_.fail(Status(Code::kInternal, Scope::kGroup, "an operation did not end by its deadline"));
  }
  return std::move(completion.status);
}

Work refused_work(Status why) {
  auto completion = std::make_shared<WorkCompletion>();
  completion->end(std::move(why));
  return Work(nullptr, std::move(completion));
}

Work CommunicatorCore::start(const OperationRequest& request) {
  if (is_of_another_process()) return refused_work(refuse_child());
  if (auto on_device = start_on_device(request)) return *std::move(on_device);
  return start_on_host(request);
}

Work CommunicatorCore::start_on_host(const OperationRequest& request) {
  const Engine::Baton baton = engine_.hold();
  held_.serve_at_times();
  return Work(parts().engine, held_.start(request));
}

Work CommunicatorCore::start_many(std::span<const Tensor> tensors,
                                  const OperationRequest& request) {
  if (is_of_another_process()) return refused_work(refuse_child());
  if (!tensors.empty() && device_.may_serve()) {
    if (auto on_device = start_found(request_of(tensors, request))) return *std::move(on_device);
  }
  const Engine::Baton baton = engine_.hold();
  held_.serve_at_times();
  return Work(parts().engine, held_.start_many(tensors, request));
}

std::optional<Work> CommunicatorCore::start_found(const OperationRequest& request) {
  const Result<Device*> device = device_.device_of(request, stream_);
  if (!device.ok()) return refused_work(device.status());
  if (*device == nullptr) return std::nullopt;
  OperationRequest in_stream = request;
  if (in_stream.stream == nullptr) in_stream.stream = stream_;
  const Engine::Baton baton = engine_.hold();
  return Work(parts().engine, device_.start(in_stream, **device));
}

// All add up what they have sent and not received: nothing of it may be left.
Status CommunicatorCore::close() {
  PACELINE_TRY(refuse_child());
  {
    const Engine::Baton baton = engine_.hold();
    if (held_.queue().is_closed()) return {};
  }
  if (control_ != nullptr) {
    const Status closed = control_->close();
    const Engine::Baton baton = engine_.hold();
    if (closed.ok()) held_.queue().close();
    if (closed.scope() == Scope::kGroup) held_.fail(closed);
    return closed;
  }
  {
    const Engine::Baton baton = engine_.hold();
    open_messages_ = held_.queue().pairwise().open();
  }
  Status status =
      run(requests::of({.count = 1, .kind = OperationKind::kClose, .type = DataType::kUInt64},
                       &open_messages_, &open_messages_));
  if (status.ok() && open_messages_ != 0) status = error_of_lost_messages();
  const Engine::Baton baton = engine_.hold();
  if (status.ok()) held_.queue().close();
  return status;
}

// The rank for which a message was left sees it, and says so.
Status CommunicatorCore::error_of_lost_messages() {
  const auto is_known = [this] { return !held_.failure().ok(); };
  {
    const Engine::Baton baton = engine_.hold();
    held_.listen(true);
  }
  if (!engine_.wait(is_known, Deadline::after(engine_.clock(), kAnswerPatience))) {
    if (engine_.is_stopped()) end_with_process();
    const Engine::Baton baton = engine_.hold();
    held_.fail(Status(Code::kMismatch, Scope::kGroup,
                      "ranks have sent messages that no rank has received"));
  }
  return failure();
}

Status CommunicatorCore::set_timeout(std::chrono::milliseconds timeout) {
  PACELINE_TRY(refuse_child());
  if (timeout.count() < 1 || timeout > kLongestTimeout)
    return argument_error("timeout " + std::to_string(timeout.count()) +
                          " ms is not allowed; use 1 ms to 1 year");
  if (control_ != nullptr) PACELINE_TRY(control_->set_timeout(timeout));
  const Engine::Baton baton = engine_.hold();
  held_.queue().set_timeout(timeout);
  return {};
}

Duration CommunicatorCore::timeout() const {
  const Engine::Baton baton = engine_.hold();
  return held_.queue().timeout();
}

Status CommunicatorCore::failure() const {
  PACELINE_TRY(refuse_child());
  if (control_ != nullptr) PACELINE_TRY(control_->failure());
  const Engine::Baton baton = engine_.hold();
  return held_.failure();
}

Status CommunicatorCore::look_for_failure() {
  PACELINE_TRY(refuse_child());
  if (control_ != nullptr) PACELINE_TRY(control_->look_for_failure());
  const Engine::Baton baton = engine_.hold();
  held_.serve();
  return held_.failure();
}

void CommunicatorCore::abort() {
  if (is_of_another_process()) return;
  if (control_ != nullptr) control_->abort();
  const Engine::Baton baton = engine_.hold();
  held_.fail(held_.cancelled_here("aborted the communicator"));
}

void CommunicatorCore::end_with_process() {
  const Engine::Baton baton = engine_.hold();
  held_.leave("called exit()", exit_error());
}

// If a signal handler interrupts a call and then exits, the communicator is in an undefined state
// and sends nothing. Peers notice the end of the connection.
void CommunicatorCore::leave_at_exit() {
  if (engine_.is_entered_here()) return;
  end_with_process();
}

void CommunicatorCore::stop_at_exit(Deadline deadline) {
  if (engine_.is_entered_here()) return;
  (void)wait_for_last_message(deadline);
}

}  // namespace paceline
