#include "collectives/communicator_core.h"

#include <algorithm>
#include <string>
#include <utility>

#include "collectives/plan/shape.h"
#include "comm/base/assert.h"
#include "comm/base/try.h"

namespace paceline {
namespace {

// A destructor's patience with words that are on their way; they give up before.
constexpr Duration kLeavingTime = std::chrono::seconds(5);
// A blocking call's own patience beyond its operation's deadline, which ends it by itself.
constexpr Duration kBeyondDeadline = std::chrono::seconds(60);

// Apart from their callers, which all operations pass through.
[[gnu::cold, gnu::noinline]] Status argument_error(const char* what) {
  return Status(Code::kInvalidArgument, Scope::kOperation, what);
}
[[gnu::cold, gnu::noinline]] Status root_error(int root, int ranks) {
  return Status(Code::kInvalidArgument, Scope::kOperation,
                "root " + std::to_string(root) + " is not in 0.." + std::to_string(ranks - 1));
}
[[gnu::cold, gnu::noinline]] Status queue_error(std::size_t queued) {
  return Status(Code::kExhausted, Scope::kOperation,
                std::to_string(queued) + " operations are outstanding: wait for some");
}
[[gnu::cold, gnu::noinline]] Status in_call(OperationKind kind, const Status& error) {
  return error.with_context(name(kind));
}

struct Buffer {
  std::uintptr_t address;
  std::size_t bytes;
};
Buffer buffer_at(const std::byte* begin, std::size_t bytes) {
  return {reinterpret_cast<std::uintptr_t>(begin), bytes};
}
bool overlap(const Buffer& a, const Buffer& b) {
  return a.address < b.address + b.bytes && b.address < a.address + a.bytes;
}

}  // namespace

CommunicatorCore::CommunicatorCore(Parts parts)
    : parts_(std::move(parts)),
      clock_(parts_.engine->clock()),
      pairwise_(parts_.transport.get(), parts_.group.rank, parts_.group.size()),
      backend_(&pairwise_),
      watch_(parts_.report_every) {
  backend_of_.fill(&pairwise_);
  for (const OperationKind kind : kOperationKinds) {
    if (!is_collective(kind)) continue;
    const auto serves = [&](const auto& backend) { return backend->serves(kind); };
    const auto found = std::find_if(parts_.backends.begin(), parts_.backends.end(), serves);
    PACELINE_ASSERT(found != parts_.backends.end());
    backend_of_[static_cast<std::size_t>(kind)] = found->get();
  }
  const Engine::Baton baton = parts_.engine->hold();
  if (parts_.transport != nullptr) parts_.transport->set_sink(this);
  parts_.engine->attach(*this);
}

CommunicatorCore::~CommunicatorCore() {
  {
    const Engine::Baton baton = parts_.engine->hold();
    if (failure_.ok()) {
      part();
      latch(Status(Code::kCancelled, Scope::kGroup, "the communicator was destroyed"),
            clock_.now());
    }
  }
  const auto flushed = [this] { return !flushing_; };
  (void)parts_.engine->wait(flushed, Deadline::after(clock_, kLeavingTime));
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

Status CommunicatorCore::run(const OperationRequest& request) {
  Engine& engine = *parts_.engine;
  Completion completion;
  Duration timeout{};
  {
    const Engine::Baton baton = engine.hold();
    timeout = parts_.timeout;
    if (Status refused = admit(request); !refused.ok()) return refused;
    Operation* const operation = enter(request);
    if (operation == nullptr) return failure_;
    // Not owned: this frame waits for the end.
    operation->completion = std::shared_ptr<Completion>(std::shared_ptr<void>(), &completion);
  }
  const auto ended = [&completion] { return completion.has_ended(); };
  if (!engine.wait(ended, Deadline::after(clock_, timeout + kBeyondDeadline))) {
    const Engine::Baton baton = engine.hold();
    fail(Status(Code::kInternal, Scope::kGroup, "an operation outlived its deadline"),
         clock_.now());
  }
  return std::move(completion.status);
}

Work CommunicatorCore::start(const OperationRequest& request) {
  auto completion = std::make_shared<Completion>();
  const Engine::Baton baton = parts_.engine->hold();
  if (Status refused = admit(request); !refused.ok()) {
    completion->end(std::move(refused));
  } else if (Operation* const operation = enter(request); operation == nullptr) {
    completion->end(failure_);
  } else {
    completion->owner = this;
    operation->completion = completion;
    operation->in_background = true;
    parts_.engine->begin_background();
  }
  return Work(parts_.engine, std::move(completion));
}

// All add up what they have sent and not received: nothing of it may be left.
Status CommunicatorCore::close() {
  {
    const Engine::Baton baton = parts_.engine->hold();
    if (closed_) return {};
    open_messages_ = pairwise_.open();
  }
  auto* const sum = reinterpret_cast<std::byte*>(&open_messages_);
  Status status =
      run({.signature = {.count = 1, .kind = OperationKind::kClose, .type = DataType::kUInt64},
           .input = sum,
           .output = sum});
  if (status.ok() && open_messages_ != 0) status = account_of_messages();
  const Engine::Baton baton = parts_.engine->hold();
  closed_ = status.ok();
  return status;
}

Status CommunicatorCore::set_timeout(std::chrono::milliseconds timeout) {
  if (timeout.count() < 1 || timeout > kLongestTimeout)
    return argument_error("the timeout is not between 1 ms and a year");
  const Engine::Baton baton = parts_.engine->hold();
  parts_.timeout = timeout;
  return {};
}

Duration CommunicatorCore::timeout() const {
  const Engine::Baton baton = parts_.engine->hold();
  return parts_.timeout;
}

// Nobody can leave an operation alone: the others wait for what this rank owes them.
void CommunicatorCore::cancel(const Completion& completion) {
  const bool runs = running_ && current_.completion.get() == &completion;
  fail(Status(Code::kCancelled, Scope::kGroup,
              runs ? "the operation was cancelled" : "an operation behind this one was cancelled"),
       clock_.now());
}

void CommunicatorCore::abort() {
  const Engine::Baton baton = parts_.engine->hold();
  fail(Status(Code::kCancelled, Scope::kGroup, "the communicator was aborted"), clock_.now());
}

Status CommunicatorCore::failure() const {
  const Engine::Baton baton = parts_.engine->hold();
  return failure_;
}

Status CommunicatorCore::validate(const OperationRequest& request) const {
  const Signature& signature = request.signature;
  if (!is_collective(signature.kind)) return pairwise_.validate(request);
  if (!has_elements(signature.kind)) return {};
  const std::size_t element = size_of(signature.type);
  if (element == 0) return argument_error("unknown data type");
  if (!is_known(signature.op)) return argument_error("unknown op");
  // The others may have a block for each rank.
  const bool is_array =
      signature.kind == OperationKind::kAllReduce || signature.kind == OperationKind::kBroadcast;
  const auto ranks = static_cast<std::size_t>(group().size());
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(signature.count, is_array ? element : element * ranks, &bytes) ||
      bytes > SIZE_MAX / 2) {
    return argument_error("count is too large");
  }
  if (has_root(signature.kind) && (signature.root < 0 || signature.root >= group().size()))
    return root_error(signature.root, group().size());
  if (has_counts(signature.kind)) return validate_counts(request);
  if (signature.count == 0) return {};
  // The most frequent calls.
  const Buffer in = buffer_at(request.input, bytes), out = buffer_at(request.output, bytes);
  const bool are_there = request.input != nullptr && request.output != nullptr;
  if (is_array && are_there && (in.address == out.address || !overlap(in, out))) return {};
  return validate_buffers(request);
}

Status CommunicatorCore::validate_counts(const OperationRequest& request) const {
  const auto check = [&](const std::size_t* counts) -> Status {
    if (counts == nullptr) return argument_error("there is not a count for each rank");
    std::size_t left = SIZE_MAX / 2 / size_of(request.signature.type);
    for (int rank = 0; rank < group().size(); ++rank) {
      if (counts[rank] > left) return argument_error("count is too large");
      left -= counts[rank];
    }
    return {};
  };
  PACELINE_TRY(check(request.counts));
  if (request.signature.kind == OperationKind::kAllToAllV) {
    PACELINE_TRY(check(request.recv_counts));
    const auto own = static_cast<std::size_t>(group().rank);
    if (request.counts[own] != request.recv_counts[own])
      return argument_error("what this rank sends to itself is not what it receives from itself");
  }
  return validate_buffers(request);
}

Status CommunicatorCore::validate_buffers(const OperationRequest& request) const {
  const Signature& signature = request.signature;
  PlanRequest asked{.kind = signature.kind,
                    .rank = group().rank,
                    .ranks = group().size(),
                    .root = signature.root,
                    .count = signature.count};
  if (request.counts != nullptr)
    asked.counts.assign(request.counts, request.counts + group().size());
  if (request.recv_counts != nullptr)
    asked.recv_counts.assign(request.recv_counts, request.recv_counts + group().size());
  const Shape shape = shape_of(asked);
  if ((shape.input_count > 0 && request.input == nullptr) ||
      (shape.output_count > 0 && request.output == nullptr)) {
    return argument_error("a buffer is null");
  }
  const std::size_t element = size_of(signature.type);
  const Buffer in = buffer_at(request.input, shape.input_count * element);
  const Buffer out = buffer_at(request.output, shape.output_count * element);
  const bool in_place =
      in.address + shape.output_at * element == out.address + shape.input_at * element;
  if (!in_place && overlap(in, out)) {
    return argument_error("the buffers overlap other than an operation in place has them");
  }
  return {};
}

Status CommunicatorCore::admit(const OperationRequest& request) const {
  if (!failure_.ok()) return failure_;
  if (closed_) return argument_error("the communicator is closed");
  if (Status invalid = validate(request); !invalid.ok()) {
    return in_call(request.signature.kind, invalid);
  }
  if (queue_.size() >= kMaxQueued) return queue_error(kMaxQueued);
  return {};
}

// Begins it, or puts it behind those before it. Null where it has ended: well, or with failure_.
CommunicatorCore::Operation* CommunicatorCore::enter(const OperationRequest& request) {
  const bool at_once = !running_;
  Operation& operation = at_once ? current_ : queue_.push_back();
  operation.request = request;
  operation.timeout = parts_.timeout;
  operation.in_background = false;
  if (at_once) {
    operation.called_at.reset();
    begin_current();
    return running_ ? &operation : nullptr;
  }
  operation.called_at = clock_.now();
  return &operation;
}

// A short operation mostly ends in here. Nothing is noted, nor the clock looked at, before the
// others have what this rank contributes: who crashes over its own input is on record with the
// operation before.
void CommunicatorCore::begin_current() {
  running_ = true;
  Signature& signature = current_.request.signature;
  signature.sequence = history_.begun();
  signature.history = history_.digest();
  backend_ = backend_of_[static_cast<std::size_t>(signature.kind)];
  const Status refused = backend_->start(current_.request);
  const TimePoint now = clock_.now();
  if (!current_.called_at) current_.called_at = now;
  current_.flight_place = parts_.flight->start(signature, now);
  if (!refused.ok()) return fail(refused, now);
  if (is_collective(signature.kind)) {
    history_.begin(signature);
    if (!early_.empty()) compare_early();
  }
  watch_.begin(now, *current_.called_at, current_.timeout);
  if (const auto end = backend_->linger(clock_, now)) end_current({}, *end);
}

void CommunicatorCore::begin_next() {
  while (!running_ && !queue_.empty()) {
    current_ = std::move(queue_.front());
    queue_.pop_front();
    begin_current();
  }
}

void CommunicatorCore::end_current(const Status& how, TimePoint now) {
  backend_->finish();
  running_ = false;
  const FlightState state = how.ok() ? FlightState::kSucceeded : FlightState::kFailed;
  // Who disagrees is no more to blame than this rank.
  const bool is_loss = how.code() == Code::kPeerLost || how.code() == Code::kTimeout;
  parts_.flight->finish(current_.flight_place, state, now, is_loss ? how.culprit().rank : -1);
  end(current_, how, now);
}

void CommunicatorCore::end(Operation& operation, const Status& how, TimePoint now) {
  ++stats_.operations;
  if (operation.in_background) {
    parts_.engine->end_background();
  } else {
    stats_.time_blocked += now - *operation.called_at;
  }
  if (operation.completion == nullptr) return;
  operation.completion->end(how);
  operation.completion.reset();
}

bool CommunicatorCore::drive(TimePoint now) {
  bool moved = parts_.transport != nullptr && parts_.transport->drive(now);
  moved |= end_flush(moved, now);
  if (running_ && backend_->drive(now)) {
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
