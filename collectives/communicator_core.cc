#include "collectives/communicator_core.h"

#include <string>
#include <utility>

namespace paceline {
namespace {

// How long notices of an error may take to leave; afterwards peers find out by themselves.
constexpr Duration kFlushTime = std::chrono::milliseconds(500);
// A blocking call's own patience beyond its operation's deadline, which ends it by itself.
constexpr Duration kBeyondDeadline = std::chrono::seconds(60);
// How long an error waits for a better account of it from somebody else.
constexpr Duration kPatience = std::chrono::milliseconds(200);
// Without progress for the first, an operation asks; then ever more rarely, at
// last at the second's interval.
constexpr Duration kFirstInquiry = std::chrono::milliseconds(200);
constexpr Duration kLastInquiry = std::chrono::seconds(30);

Status argument_error(const std::string& what) {
  return Status(Code::kInvalidArgument, Scope::kOperation, what);
}

bool overlap_in_part(const std::byte* a, const std::byte* b, std::size_t bytes) {
  return a != b && a < b + bytes && b < a + bytes;
}

}  // namespace

CommunicatorCore::CommunicatorCore(Parts parts) : parts_(std::move(parts)) {
  const Engine::Baton baton = parts_.engine->hold();
  if (parts_.transport != nullptr) parts_.transport->set_sink(this);
  parts_.engine->attach(*this);
}

CommunicatorCore::~CommunicatorCore() {
  {
    const Engine::Baton baton = parts_.engine->hold();
    if (failure_.ok()) {
      fail(Status(Code::kCancelled, Scope::kGroup, "the communicator was destroyed"),
           parts_.engine->clock().now(), false);
    }
  }
  flush_notices();
  const Engine::Baton baton = parts_.engine->hold();
  if (flushing_) parts_.engine->end_background();
  parts_.engine->detach(*this);
}

void CommunicatorCore::flush_notices() {
  const auto flushed = [this] { return !flushing_; };
  const Clock& clock = parts_.engine->clock();
  (void)parts_.engine->wait(flushed, Deadline::after(clock, kFlushTime));
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
    if (Status refused = submit(request, std::move(borrowed), false); !refused.ok()) return refused;
  }
  const auto ended = [&completion] { return completion.has_ended(); };
  if (!engine.wait(ended, Deadline::at(begin + parts_.timeout + kBeyondDeadline))) {
    const Engine::Baton baton = engine.hold();
    fail(Status(Code::kInternal, Scope::kGroup, "an operation outlived its deadline"),
         engine.clock().now(), true);
  }
  const Engine::Baton baton = engine.hold();
  stats_.time_blocked += engine.clock().now() - begin;
  return completion.status;
}

Work CommunicatorCore::start(OperationRequest request) {
  auto completion = std::make_shared<Completion>();
  const Engine::Baton baton = parts_.engine->hold();
  if (Status refused = submit(request, completion, true); !refused.ok()) {
    completion->end(std::move(refused));
  }
  return Work(parts_.engine, std::move(completion));
}

Status CommunicatorCore::validate(const OperationRequest& request) const {
  const Signature& signature = request.signature;
  if (signature.kind == OperationKind::kBarrier) return {};
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
                                bool in_background) {
  if (!failure_.ok()) return failure_;
  if (Status invalid = validate(request); !invalid.ok()) {
    return invalid.with_context(std::string(name(request.signature.kind)));
  }
  if (queue_.size() >= kMaxQueued) {
    return Status(Code::kExhausted, Scope::kOperation,
                  std::to_string(kMaxQueued) + " operations are outstanding: wait for some");
  }
  const TimePoint now = parts_.engine->clock().now();
  request.signature.sequence = next_sequence_++;
  queue_.push_back({.request = request,
                    .deadline = Deadline::after(parts_.engine->clock(), parts_.timeout).moment(),
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
    operation.flight_place =
        parts_.flight->start({.signature = signature, .began_ns = now.time_since_epoch().count()});
    if (Status refused = parts_.backend->start(operation.request); !refused.ok()) {
      return fail(std::move(refused), now, true);
    }
    running_ = true;
    history_[signature.sequence % kRemembered] = signature;
    begun_ = signature.sequence + 1;
    inquire_next_ = kFirstInquiry;
    inquire_at_ = now + inquire_next_;
    if (parts_.backend->ended() && parts_.backend->outcome().ok()) end_current({}, now);
  }
}

void CommunicatorCore::end_current(Status how, TimePoint now) {
  parts_.backend->finish();
  running_ = false;
  Operation operation = std::move(queue_.front());
  queue_.pop_front();
  ++stats_.operations;
  if (operation.flight_place) {
    const FlightState state = how.ok() ? FlightState::kSucceeded : FlightState::kFailed;
    parts_.flight->finish(*operation.flight_place, state, now);
  }
  if (operation.in_background) parts_.engine->end_background();
  operation.completion->end(std::move(how));
}

bool CommunicatorCore::drive(TimePoint now) {
  bool moved = parts_.transport != nullptr && parts_.transport->drive(now);
  moved |= end_flush(now);
  if (running_) moved |= parts_.backend->drive(now);
  if (moved && running_) inquire_at_ = now + inquire_next_;
  return judge(now) || moved;
}

// What has become of the running operation; true if anything has.
bool CommunicatorCore::judge(TimePoint now) {
  if (!failure_.ok()) return false;
  // A peer's own account of what went wrong is better than what is seen of it here.
  if (notice_) return fail(*std::exchange(notice_, std::nullopt), now, false), true;
  if (answer_inquiries(now)) return true;
  if (!running_) return false;
  if (parts_.backend->ended()) {
    if (await_better_account(now)) return false;
    if (!parts_.backend->outcome().ok()) return fail(failure_of_backend(), now, true), true;
    end_current({}, now);
    start_next(now);
    return true;
  }
  if (now >= queue_.front().deadline) return fail(timeout_error(), now, true), true;
  if (now >= inquire_at_) inquire(now);
  return false;
}

// A lost peer may have said why to others, and a peer that is ahead knows what it called under our
// number: for a short while their account is waited for.
bool CommunicatorCore::await_better_account(TimePoint now) {
  const auto disagreed = parts_.backend->disagreement();
  const Signature& mine = queue_.front().request.signature;
  const bool is_ahead = disagreed && disagreed->theirs.sequence > mine.sequence;
  if (!is_ahead && parts_.backend->outcome().code() != Code::kPeerLost) return false;
  if (!stands_at_) {
    stands_at_ = now + kPatience;
    if (is_ahead) parts_.transport->inquire(disagreed->peer, mine);
  }
  return now < *stands_at_;
}

TimePoint CommunicatorCore::wake_at() const {
  TimePoint wake = parts_.transport != nullptr ? parts_.transport->wake_at() : TimePoint::max();
  if (flushing_) wake = std::min(wake, flush_until_);
  if (!running_) return wake;
  wake = std::min({wake, queue_.front().deadline, inquire_at_});
  return stands_at_ ? std::min(wake, *stands_at_) : wake;
}

void CommunicatorCore::noticed(int, const Status& error) {
  if (!notice_) notice_ = error;
}

void CommunicatorCore::inquired(int peer, const Signature& signature) {
  inquiries_.emplace_back(peer, signature);
}

void CommunicatorCore::inquire(TimePoint now) {
  for (const int peer : parts_.backend->awaited()) {
    parts_.transport->inquire(peer, queue_.front().request.signature);
  }
  inquire_next_ = std::min(2 * inquire_next_, kLastInquiry);
  inquire_at_ = now + inquire_next_;
}

// A peer that is stuck in what was called differently here gets the error; one that is only
// waiting for this rank gets no answer.
bool CommunicatorCore::answer_inquiries(TimePoint now) {
  for (const auto& [peer, theirs] : std::exchange(inquiries_, {})) {
    const Signature* mine = remembered(theirs.sequence);
    if (mine == nullptr || *mine == theirs) continue;
    fail(disagreement(peer, theirs), now, true);
    return true;
  }
  return false;
}

const Signature* CommunicatorCore::remembered(std::uint64_t sequence) const {
  const bool known = sequence < begun_ && begun_ - sequence <= kRemembered;
  return known ? &history_[sequence % kRemembered] : nullptr;
}

void CommunicatorCore::fail(Status why, TimePoint now, bool seen_here) {
  failure_ = std::move(why);
  if (running_ && failure_.culprit().operation.empty()) {
    const Signature& signature = queue_.front().request.signature;
    Culprit culprit = failure_.culprit();
    culprit.operation = signature.to_string();
    culprit.sequence = static_cast<std::int64_t>(signature.sequence);
    failure_ = failure_.with_culprit(std::move(culprit));
  }
  if (parts_.transport != nullptr) {
    // Who saw it tells everybody; who was told passes it on along the connections there are, so
    // that it comes before the end of each connection.
    const bool destroyed = failure_.code() == Code::kCancelled;
    for (int peer = 0; !destroyed && peer < group().size(); ++peer) {
      if (peer == group().rank) continue;
      if (seen_here || parts_.transport->connected(peer)) parts_.transport->notify(peer, failure_);
    }
    parts_.transport->abort(failure_);
    flush_until_ = now + kFlushTime;
    if (!std::exchange(flushing_, !parts_.transport->flushed()) && flushing_) {
      parts_.engine->begin_background();
    }
  }
  while (!queue_.empty()) end_current(failure_, now);
}

bool CommunicatorCore::end_flush(TimePoint now) {
  if (!flushing_ || (!parts_.transport->flushed() && now < flush_until_)) return false;
  flushing_ = false;
  parts_.engine->end_background();
  return true;
}

Status CommunicatorCore::failure_of_backend() const {
  const auto disagreed = parts_.backend->disagreement();
  if (disagreed) return disagreement(disagreed->peer, disagreed->theirs);
  return parts_.backend->outcome();
}

// Names what both called under the number on which they parted, as far as it is still known.
Status CommunicatorCore::disagreement(int peer, const Signature& theirs) const {
  const Signature* same_number = remembered(theirs.sequence);
  const Signature& mine = same_number != nullptr ? *same_number : queue_.front().request.signature;
  return Status(Code::kMismatch, Scope::kGroup,
                name_of(peer) + " called " + theirs.to_string() + " where " +
                    name_of(group().rank) + " called " + mine.to_string() + ": " +
                    difference(theirs, mine),
                {.rank = peer, .host = group().members[static_cast<std::size_t>(peer)].host});
}

Status CommunicatorCore::timeout_error() const {
  std::string awaited;
  for (const int peer : parts_.backend->awaited()) {
    awaited += (awaited.empty() ? ", waiting for " : ", ") + name_of(peer);
  }
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(parts_.timeout).count();
  return Status(Code::kTimeout, Scope::kGroup,
                "not ended after " + std::to_string(seconds) + " s" + awaited);
}

std::string CommunicatorCore::name_of(int rank) const {
  return "rank " + std::to_string(rank) + " on " +
         group().members[static_cast<std::size_t>(rank)].host;
}

}  // namespace paceline
