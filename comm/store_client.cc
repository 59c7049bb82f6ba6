#include "comm/store_client.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <sys/epoll.h>
#include <sys/socket.h>

#include "comm/base/random.h"
#include "comm/base/text.h"
#include "comm/base/try.h"
#include "comm/exit.h"

namespace paceline {
namespace {

constexpr Duration kRetry = std::chrono::milliseconds(20);
// A server that hangs up after it has got the proof may have been crowded in that very moment, or
// holds another key: some tries tell.
constexpr int kProofs = 5;
// What is read before the server has proven the key: never more than its next word.
constexpr std::size_t kMostUnproven = std::max(kChallengeBytes, kWelcomeBytes);
constexpr std::size_t kReadBytes = 4096;
// Between two batches everybody else is driven and deadlines are looked at.
constexpr int kReadBatch = 16;

// The error for a request that has no value.
Status refusal(const StoreFrame& answer, const StoreFrame& question) {
  if (answer.kind != StoreFrameKind::kEnded)
    return Status(Code::kExhausted, Scope::kOperation, "store: " + answer.value);
  return Status(Code::kPeerLost, Scope::kGroup,
                "rank " + question.value + " ended (" + answer.value + ") without joining",
                {.rank = parse_number<int>(question.value).value_or(-1)});
}

Status too_long() {
  return Status(Code::kInvalidArgument, Scope::kOperation,
                "store: the key or the value is too long");
}

}  // namespace

Result<std::unique_ptr<StoreClient>> StoreClient::connect(const std::shared_ptr<PollEngine>& engine,
                                                          const SocketAddress& address,
                                                          const JobKey* key, Deadline deadline) {
  int proofs = 0;
  Status unavailable;  // why, as the last try was told
  while (true) {
    Result<UniqueFd> fd = start_connect(address);
    Status status = fd.status();
    if (fd.ok()) {
      std::unique_ptr<StoreClient> client(new StoreClient(engine, address, *std::move(fd)));
      status = client->open(key, deadline);
      if (status.ok()) return client;
    }
    if (engine->is_stopped()) return exit_error().with_context("store");
    // A try that its deadline cut short knows less than those before it.
    if (status.code() == Code::kTimeout && !unavailable.ok()) status = unavailable;
    if (status.code() == Code::kUnavailable) unavailable = status;
    // "Nobody is there yet" is worth another try, as rank 0 may still be starting; so is a server
    // that hung up before it could know whom it had before it.
    const bool after_proof = status.code() == Code::kPeerLost;
    if (after_proof) ++proofs;
    const bool again = status.code() == Code::kUnavailable || (after_proof && proofs < kProofs);
    const TimePoint retry = engine->clock().now() + kRetry;
    if (!again || deadline.passed(retry)) {
      if (after_proof) status = Status(Code::kDenied, Scope::kProcess, status.text());
      return status.with_context("store");
    }
    (void)engine->wait([] { return false; }, Deadline::at(retry));
  }
}

StoreClient::StoreClient(std::shared_ptr<PollEngine> engine, SocketAddress address, UniqueFd fd)
    : engine_(std::move(engine)),
      address_(address),
      fd_(std::move(fd)),
      proven_(address.is_unix()) {}

// The error of a wait whose condition does not hold.
Status StoreClient::not_in_time(const char* what) const {
  if (engine_->is_stopped()) return exit_error();
  return Status(Code::kTimeout, Scope::kGroup,
                "the store at " + address_.to_string() + " " + what + " in time");
}

StoreClient::~StoreClient() {
  const Engine::Baton baton = engine_->hold();
  engine_->forget(fd_.get(), *this);
  engine_->detach(*this);
}

Status StoreClient::open(const JobKey* key, Deadline deadline) {
  {
    const Engine::Baton baton = engine_->hold();
    engine_->attach(*this);
    PACELINE_TRY(engine_->watch(fd_.get(), *this));
  }
  // Members are looked at with the baton held: another thread may be driving.
  Status broken;
  const auto decided = [&] { return broken = broken_, connected_ || !broken.ok(); };
  if (!engine_->wait(decided, deadline)) return not_in_time("did not accept the connection");
  PACELINE_TRY(broken);
  if (address_.is_unix()) return {};
  if (key == nullptr) {
    return Status(Code::kDenied, Scope::kProcess,
                  "the store at " + address_.to_string() +
                      " uses TCP, which requires the job's key; set PACELINE_JOB_KEY_FILE on every "
                      "rank to a file with the same key");
  }
  return prove(*key, deadline);
}

Status StoreClient::prove(const JobKey& key, Deadline deadline) {
  DialerHandshake::Nonce nonce;
  PACELINE_TRY(fill_system_random(nonce));
  DialerHandshake handshake(key, {.purpose = Purpose::kStore}, nonce);
  PACELINE_TRY_ASSIGN(const Bytes challenge,
                      await_bytes(kChallengeBytes, deadline, Code::kUnavailable));
  Result<Bytes> answer = handshake.answer(challenge);
  if (!answer.ok()) return answer.status().with_context("the store at " + address_.to_string());
  {
    const Engine::Baton baton = engine_->hold();
    outgoing_ = *std::move(answer);
  }
  PACELINE_TRY_ASSIGN(const Bytes welcome, await_bytes(kWelcomeBytes, deadline, Code::kPeerLost));
  PACELINE_TRY(handshake.read_welcome(welcome).status());
  const Engine::Baton baton = engine_->hold();
  proven_ = true;
  read_some();  // until the socket would block: from now on the client is at rest
  return {};
}

// The next `count` bytes of the greeting.
Result<Bytes> StoreClient::await_bytes(std::size_t count, Deadline deadline, Code if_hung_up) {
  Bytes bytes;
  const auto decided = [&] {
    if (incoming_.size() < count) return !broken_.ok();
    const auto end = incoming_.begin() + static_cast<std::ptrdiff_t>(count);
    bytes.assign(incoming_.begin(), end);
    incoming_.erase(incoming_.begin(), end);
    return true;
  };
  if (!engine_->wait(decided, deadline))
    return not_in_time("did not prove that it has the job's key");
  if (!bytes.empty()) return bytes;
  return Status(if_hung_up, Scope::kProcess,
                "the store at " + address_.to_string() +
                    " closed the connection before both sides had proved the job's key: it has too "
                    "many clients, or another key");
}

void StoreClient::pause(Duration time) {
  (void)engine_->wait([] { return false; }, Deadline::after(engine_->clock(), time));
}

Status StoreClient::taken(const StoreFrame& answer) {
  rival_ = answer.value;
  return Status(Code::kMismatch, Scope::kGroup, "store: another client has set the same key");
}

Status StoreClient::set(std::string key, std::string value, Deadline deadline) {
  if (key.size() > kMaxKeyBytes || value.size() > kMaxValueBytes) return too_long();
  rival_.reset();
  const std::uint32_t id =
      request({.kind = StoreFrameKind::kSet, .key = std::move(key), .value = std::move(value)});
  const auto ended = [&] { return requests_.at(id).has_value() || !broken_.ok(); };
  (void)engine_->wait(ended, deadline);
  const Engine::Baton baton = engine_->hold();
  const std::optional<StoreFrame> answer = requests_.extract(id).mapped();
  if (!answer && !broken_.ok()) return broken_;
  if (!answer) return not_in_time("did not answer");
  if (answer->kind == StoreFrameKind::kDone) return {};
  if (answer->kind == StoreFrameKind::kTaken) return taken(*answer);
  return Status(Code::kExhausted, Scope::kOperation, "store: " + answer->value);
}

Result<StoreClient::Values> StoreClient::get(std::span<const std::string> keys, Deadline deadline) {
  std::vector<StoreFrame> questions;
  for (const std::string& key : keys)
    questions.push_back({.kind = StoreFrameKind::kGet, .key = key});
  return get_all(questions, deadline);
}

Result<StoreClient::Values> StoreClient::await(std::span<const Awaited> values, Deadline deadline) {
  return get_all(questions_for(values), deadline);
}

void StoreClient::report_waits(Duration every, WaitReport report) {
  report_every_ = every;
  report_ = std::move(report);
}

// The questions go first: when the store has all keys, it also has all questions for them. So no
// client waits for a key of one that has got its answers and gone.
Result<StoreClient::Values> StoreClient::exchange(std::string key, std::string value,
                                                  std::span<const Awaited> values,
                                                  Deadline deadline) {
  const std::vector<StoreFrame> questions = questions_for(values);
  PACELINE_TRY_ASSIGN(const auto ids, begin_all(questions));
  const Status status = set(std::move(key), std::move(value), deadline);
  if (status.ok()) return answers_to(ids, questions, deadline);
  const Engine::Baton baton = engine_->hold();
  for (const std::uint32_t id : ids) requests_.erase(id);
  return status;
}

Result<std::vector<std::uint32_t>> StoreClient::begin_all(std::span<const StoreFrame> questions) {
  const auto is_long = [](const StoreFrame& one) { return one.key.size() > kMaxKeyBytes; };
  if (std::any_of(questions.begin(), questions.end(), is_long)) return too_long();
  std::vector<std::uint32_t> ids;
  for (StoreFrame question : questions) {
    if (!hears_of_ends_) question.value.clear();  // without the rank that sets the key
    ids.push_back(request(std::move(question)));
  }
  return ids;
}

Result<StoreClient::Values> StoreClient::get_all(std::span<const StoreFrame> questions,
                                                 Deadline deadline) {
  PACELINE_TRY_ASSIGN(const auto ids, begin_all(questions));
  return answers_to(ids, questions, deadline);
}

Result<StoreClient::Values> StoreClient::answers_to(std::span<const std::uint32_t> ids,
                                                    std::span<const StoreFrame> questions,
                                                    Deadline deadline) {
  wait_for(ids, questions, deadline);
  const Engine::Baton baton = engine_->hold();
  Values values(questions.size());
  Status status;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    std::optional<StoreFrame> answer = requests_.extract(ids[i]).mapped();
    if (!answer) {
      if (status.ok()) status = engine_->is_stopped() ? exit_error() : broken_;
    } else if (answer->kind == StoreFrameKind::kValue) {
      values[i] = std::move(answer->value);
    } else if (answer->kind == StoreFrameKind::kTaken) {
      status = taken(*answer);
    } else if (status.code() != Code::kPeerLost && status.code() != Code::kMismatch) {
      status = refusal(*answer, questions[i]);
    }
  }
  PACELINE_TRY(status);
  return values;
}

// With the baton held. True if further waiting cannot change the result.
bool StoreClient::is_decided(std::span<const std::uint32_t> ids) const {
  const auto came = [this](std::uint32_t id) { return requests_.at(id).has_value(); };
  const auto never_comes = [this](std::uint32_t id) {
    const std::optional<StoreFrame>& answer = requests_.at(id);
    return answer && tells_that_none_comes(*answer);
  };
  return !broken_.ok() || std::all_of(ids.begin(), ids.end(), came) ||
         (some_ended_ && std::any_of(ids.begin(), ids.end(), never_comes));
}

void StoreClient::wait_for(std::span<const std::uint32_t> ids,
                           std::span<const StoreFrame> questions, Deadline deadline) {
  const auto decided = [&] { return is_decided(ids); };
  const TimePoint began = engine_->clock().now();
  Deadline report = Deadline::after(began, report_every_);
  while (!engine_->wait(decided, Deadline::at(std::min(deadline.moment(), report.moment())))) {
    const TimePoint now = engine_->clock().now();
    if (deadline.passed(now) || engine_->is_stopped()) return;
    report = Deadline::after(now, report_every_);
    const std::vector<int> late = missing(ids, questions);
    if (report_ && !late.empty()) report_(late, now - began);
  }
}

std::vector<int> StoreClient::missing(std::span<const std::uint32_t> ids,
                                      std::span<const StoreFrame> questions) {
  const Engine::Baton baton = engine_->hold();
  std::vector<int> ranks;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto setter = parse_number<int>(questions[i].value);
    if (setter && !requests_.at(ids[i])) ranks.push_back(*setter);
  }
  std::ranges::sort(ranks);
  return ranks;
}

std::uint32_t StoreClient::request(StoreFrame frame) {
  const Engine::Baton baton = engine_->hold();
  return begin(std::move(frame));
}

std::uint32_t StoreClient::begin(StoreFrame frame) {
  frame.id = next_id_++;
  append_frame(frame, outgoing_);
  requests_.emplace(frame.id, std::nullopt);
  return frame.id;
}

std::optional<std::uint32_t> StoreClient::ask(std::string key) {
  if (!broken_.ok() || outgoing_.size() > kMaxStoreFrameBytes) return std::nullopt;
  const std::uint32_t id = begin({.kind = StoreFrameKind::kGet, .key = std::move(key)});
  // At once: the engine may be about to sleep, and nothing else would wake it.
  write_some();
  questions_.push_back(id);
  if (questions_.size() > kMaxQuestions) {
    requests_.erase(questions_.front());
    questions_.pop_front();
  }
  return id;
}

Result<std::optional<std::string>> StoreClient::answer(std::uint32_t id) {
  const auto request = requests_.find(id);
  if (request == requests_.end()) {
    return Status(Code::kExhausted, Scope::kOperation,
                  "store: newer requests have replaced this one");
  }
  if (!request->second) {
    PACELINE_TRY(broken_);
    return std::optional<std::string>();
  }
  StoreFrame frame = *std::move(request->second);
  requests_.erase(request);
  std::erase(questions_, id);
  if (frame.kind != StoreFrameKind::kValue) frame.value.clear();
  return std::optional(std::move(frame.value));
}

bool StoreClient::drive(TimePoint) {
  if (!connected_ || !broken_.ok()) return false;
  const bool moves = (readable_ && room() > 0) || (writable_ && !outgoing_.empty());
  write_some();
  read_some();
  return moves;
}

bool StoreClient::on_ready(std::uint32_t events) {
  if (!broken_.ok()) return false;
  if (!connected_) {
    broken_ = connect_error(fd_.get(), address_);
    connected_ = broken_.ok() && (events & EPOLLOUT) != 0;
  }
  readable_ |= (events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0;
  writable_ |= (events & EPOLLOUT) != 0;
  return true;
}

std::size_t StoreClient::room() const {
  return proven_ ? kReadBytes : kMostUnproven - std::min(kMostUnproven, incoming_.size());
}

void StoreClient::read_some() {
  std::byte buffer[kReadBytes];
  for (int i = 0; i < kReadBatch && readable_ && room() > 0 && broken_.ok(); ++i) {
    const ssize_t got = ::recv(fd_.get(), buffer, room(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) {
      readable_ = false;
    } else if (got > 0) {
      incoming_.insert(incoming_.end(), buffer, buffer + got);
      if (proven_) take_answers();
    } else {
      broken_ = Status(Code::kPeerLost, Scope::kGroup,
                       "the store at " + address_.to_string() + " has closed the connection");
    }
  }
}

void StoreClient::write_some() {
  while (writable_ && broken_.ok() && !outgoing_.empty()) {
    const ssize_t sent = ::send(fd_.get(), outgoing_.data(), outgoing_.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) {
      writable_ = false;
      readable_ |= errno != EAGAIN;  // an error shows itself to the reader
    } else {
      outgoing_.erase(outgoing_.begin(), outgoing_.begin() + sent);
    }
  }
}

void StoreClient::take_answers() {
  ByteView bytes = incoming_;
  while (true) {
    Result<std::optional<StoreFrame>> frame = take_frame(bytes);
    if (!frame.ok()) broken_ = frame.status();
    if (!frame.ok() || !frame->has_value()) break;
    // Nobody waits any more for what was asked for too long ago.
    some_ended_ |= tells_that_none_comes(**frame);
    const auto request = requests_.find((*frame)->id);
    if (request != requests_.end()) request->second = **std::move(frame);
  }
  incoming_.erase(incoming_.begin(), incoming_.end() - std::ssize(bytes));
}

}  // namespace paceline
