#include "collectives/communicator_core.h"

#include <algorithm>
#include <string>
#include <utility>

namespace paceline {
namespace {

// A destructor's patience with words that are on their way; they give up before.
constexpr Duration kLeavingTime = std::chrono::seconds(5);
// A blocking call's own patience beyond its operation's deadline, which ends it by itself.
constexpr Duration kBeyondDeadline = std::chrono::seconds(60);

Status argument_error(const std::string& what) {
  return Status(Code::kInvalidArgument, Scope::kOperation, what);
}

bool overlap_in_part(const std::byte* a, const std::byte* b, std::size_t bytes) {
  return a != b && a < b + bytes && b < a + bytes;
}

}  // namespace

CommunicatorCore::CommunicatorCore(Parts parts) : parts_(std::move(parts)), watch_(parts_.stalls) {
  const Engine::Baton baton = parts_.engine->hold();
  if (parts_.transport != nullptr) parts_.transport->set_sink(this);
  parts_.engine->attach(*this);
}

CommunicatorCore::~CommunicatorCore() {
  const Clock& clock = parts_.engine->clock();
  {
    const Engine::Baton baton = parts_.engine->hold();
    if (failure_.ok()) {
      part();
      latch(Status(Code::kCancelled, Scope::kGroup, "the communicator was destroyed"), clock.now());
    }
  }
  const auto flushed = [this] { return !flushing_; };
  (void)parts_.engine->wait(flushed, Deadline::after(clock, kLeavingTime));
  const Engine::Baton baton = parts_.engine->hold();
  if (flushing_) parts_.engine->end_background();
  parts_.engine->detach(*this);
}

CommunicatorStats CommunicatorCore::stats() const {
  const Engine::Baton baton = parts_.engine->hold();
  CommunicatorStats stats = stats_;
  if (parts_.transport != nullptr) {
    stats.messages_sent = parts_.transport->counters().messages_sent;
    stats.bytes_sent = parts_.transport->counters().bytes_sent;
  }
  return stats;
}

Status CommunicatorCore::run(OperationRequest request) {
  Engine& engine = *parts_.engine;
  const TimePoint begin = engine.clock().now();
  Completion completion;
  {
    const Engine::Baton baton = engine.hold();
    // Not owned: this frame waits for the end.
    std::shared_ptr<Completion> borrowed(std::shared_ptr<void>(), &completion);
    Status refused = submit(request, std::move(borrowed), false, begin);
    if (!refused.ok()) return refused;
    if (completion.has_ended()) return end_of_wait(completion, begin);
  }
  const auto ended = [&completion] { return completion.has_ended(); };
  if (!engine.wait(ended, Deadline::at(begin + parts_.stalls.timeout + kBeyondDeadline))) {
    const Engine::Baton baton = engine.hold();
    fail(Status(Code::kInternal, Scope::kGroup, "an operation outlived its deadline"),
         engine.clock().now());
  }
  const Engine::Baton baton = engine.hold();
  return end_of_wait(completion, begin);
}

Status CommunicatorCore::end_of_wait(Completion& completion, TimePoint begin) {
  stats_.time_blocked += parts_.engine->clock().now() - begin;
  return std::move(completion.status);
}

Work CommunicatorCore::start(OperationRequest request) {
  auto completion = std::make_shared<Completion>();
  const Engine::Baton baton = parts_.engine->hold();
  const TimePoint now = parts_.engine->clock().now();
  if (Status refused = submit(request, completion, true, now); !refused.ok()) {
    completion->end(std::move(refused));
  }
  return Work(parts_.engine, std::move(completion));
}

Status CommunicatorCore::close() {
  {
    const Engine::Baton baton = parts_.engine->hold();
    if (closed_) return {};
  }
  Status status = run({.signature = {.kind = OperationKind::kClose}});
  const Engine::Baton baton = parts_.engine->hold();
  closed_ = status.ok();
  return status;
}

Status CommunicatorCore::validate(const OperationRequest& request) const {
  const Signature& signature = request.signature;
  if (!has_elements(signature.kind)) return {};
  const std::size_t element = size_of(signature.type);
  if (element == 0) return argument_error("unknown data type");
  if (signature.count > SIZE_MAX / 2 / element) return argument_error("count is too large");
  if (signature.kind == OperationKind::kBroadcast &&
      (signature.root < 0 || signature.root >= group().size())) {
    return argument_error("root " + std::to_string(signature.root) + " is not in 0.." +
                          std::to_string(group().size() - 1));
  }
  if (signature.count == 0) return {};
  if (request.input == nullptr || request.output == nullptr) {
    return argument_error("a buffer is null");
  }
  if (overlap_in_part(request.input, request.output, signature.count * element)) {
    return argument_error("the buffers overlap without being the same");
  }
  return {};
}

Status CommunicatorCore::submit(OperationRequest request, std::shared_ptr<Completion> completion,
                                bool in_background, TimePoint now) {
  if (!failure_.ok()) return failure_;
  if (closed_) return argument_error("the communicator is closed");
  if (Status invalid = validate(request); !invalid.ok()) {
    return invalid.with_context(std::string(name(request.signature.kind)));
  }
  if (queue_.size() >= kMaxQueued) {
    return Status(Code::kExhausted, Scope::kOperation,
                  std::to_string(kMaxQueued) + " operations are outstanding: wait for some");
  }
  request.signature.sequence = next_sequence_++;
  queue_.push_back({.request = request,
                    .deadline = Deadline::after(now, parts_.stalls.timeout).moment(),
                    .completion = std::move(completion),
                    .in_background = in_background});
  if (in_background) parts_.engine->begin_background();
  if (!running_) start_next(now);
  return {};
}

void CommunicatorCore::start_next(TimePoint now) {
  while (!running_ && !queue_.empty()) {
    Operation& operation = queue_.front();
    Signature& signature = operation.request.signature;
    signature.history = history_.digest();
    operation.flight_place =
        parts_.flight->start({.signature = signature, .began_ns = now.time_since_epoch().count()});
    if (Status refused = parts_.backend->start(operation.request); !refused.ok()) {
      return fail(std::move(refused), now);
    }
    running_ = true;
    history_.begin(signature);
    compare_early();
    watch_.begin(now, operation.deadline);
    if (parts_.backend->ended() && parts_.backend->outcome().ok()) end_current({}, now);
  }
}

void CommunicatorCore::end_current(Status how, TimePoint now) {
  parts_.backend->finish();
  running_ = false;
  Operation operation = queue_.pop_front();
  ++stats_.operations;
  if (operation.flight_place) {
    const FlightState state = how.ok() ? FlightState::kSucceeded : FlightState::kFailed;
    // Who disagrees is no more to blame than this rank.
    const bool is_loss = how.code() == Code::kPeerLost || how.code() == Code::kTimeout;
    parts_.flight->finish(*operation.flight_place, state, now, is_loss ? how.culprit().rank : -1);
  }
  if (operation.in_background) parts_.engine->end_background();
  operation.completion->end(std::move(how));
}

bool CommunicatorCore::drive(TimePoint now) {
  bool moved = parts_.transport != nullptr && parts_.transport->drive(now);
  moved |= end_flush(moved, now);
  if (running_ && parts_.backend->drive(now)) {
    watch_.moved(now);
    moved = true;
  }
  return judge(now) || moved;
}

TimePoint CommunicatorCore::wake_at() const {
  TimePoint wake = parts_.transport != nullptr ? parts_.transport->wake_at() : TimePoint::max();
  if (flushing_) wake = std::min(wake, flush_look_);
  if (running_) wake = std::min(wake, stands_at_.value_or(watch_.wake_at()));
  return wake;
}

}  // namespace paceline
