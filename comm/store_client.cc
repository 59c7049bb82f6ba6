#include "comm/store_client.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <sys/epoll.h>
#include <sys/socket.h>

#include "comm/base/random.h"
#include "comm/base/try.h"

namespace paceline {
namespace {

constexpr Duration kRetry = std::chrono::milliseconds(20);

Status timed_out(const SocketAddress& address, const char* what) {
  return Status(Code::kTimeout, Scope::kGroup,
                std::string(what) + " at " + address.to_string() + " in time");
}

Status too_long() {
  return Status(Code::kInvalidArgument, Scope::kOperation, "store: key or value is too long");
}

}  // namespace

Result<std::unique_ptr<StoreClient>> StoreClient::connect(std::shared_ptr<PollEngine> engine,
                                                          const SocketAddress& address,
                                                          const JobKey* key, Deadline deadline) {
  while (true) {
    Result<UniqueFd> fd = start_connect(address);
    Status status = fd.status();
    if (fd.ok()) {
      std::unique_ptr<StoreClient> client(new StoreClient(engine, address, *std::move(fd)));
      status = client->open(key, deadline);
      if (status.ok()) return client;
    }
    // Only "nobody is there yet" is worth another try: rank 0 may still be starting.
    const TimePoint retry = engine->clock().now() + kRetry;
    if (status.code() != Code::kUnavailable || deadline.passed(retry)) {
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
  if (!engine_->wait(decided, deadline)) return timed_out(address_, "nobody answers");
  PACELINE_TRY(broken);
  if (address_.is_unix()) return {};
  if (key == nullptr) {
    return Status(Code::kDenied, Scope::kProcess,
                  "the store at " + address_.to_string() +
                      " is reached over TCP, which needs the job's key: set "
                      "PACELINE_JOB_KEY_FILE to the same file content on every rank");
  }
  return prove(*key, deadline);
}

Status StoreClient::prove(const JobKey& key, Deadline deadline) {
  DialerHandshake::Nonce nonce;
  PACELINE_TRY(fill_system_random(nonce));
  DialerHandshake handshake(key, {.purpose = Purpose::kStore}, nonce);
  PACELINE_TRY(await_bytes(kChallengeBytes, deadline));
  {
    const Engine::Baton baton = engine_->hold();
    Result<Bytes> hello = handshake.answer(ByteView(incoming_).first(kChallengeBytes));
    if (!hello.ok()) return hello.status();
    incoming_.erase(incoming_.begin(), incoming_.begin() + kChallengeBytes);
    outgoing_ = *std::move(hello);
  }
  PACELINE_TRY(await_bytes(kWelcomeBytes, deadline));
  const Engine::Baton baton = engine_->hold();
  Result<Verdict> verdict = handshake.read_welcome(ByteView(incoming_).first(kWelcomeBytes));
  if (!verdict.ok()) return verdict.status();
  incoming_.erase(incoming_.begin(), incoming_.begin() + kWelcomeBytes);
  proven_ = true;
  return {};
}

Status StoreClient::await_bytes(std::size_t count, Deadline deadline) {
  bool came = false;
  const auto decided = [&] { return came = incoming_.size() >= count, came || !broken_.ok(); };
  if (!engine_->wait(decided, deadline)) return timed_out(address_, "no proof of the key came");
  if (came) return {};
  return Status(Code::kDenied, Scope::kProcess,
                address_.to_string() + " ended the connection while the key was being proven");
}

Status StoreClient::set(std::string key, std::string value, Deadline deadline) {
  if (key.size() > kMaxKeyBytes || value.size() > kMaxValueBytes) return too_long();
  const std::uint32_t id =
      request({.kind = StoreFrameKind::kSet, .key = std::move(key), .value = std::move(value)});
  const auto ended = [&] { return answers_.contains(id) || !broken_.ok(); };
  if (!engine_->wait(ended, deadline)) return timed_out(address_, "the store did not answer");
  const Engine::Baton baton = engine_->hold();
  const auto answer = answers_.extract(id);
  if (answer.empty()) return broken_;
  if (answer.mapped().kind == StoreFrameKind::kDone) return {};
  return Status(Code::kExhausted, Scope::kOperation, "store: " + answer.mapped().value);
}

Result<std::vector<std::optional<std::string>>> StoreClient::get(std::span<const std::string> keys,
                                                                 Deadline deadline) {
  const auto is_long = [](const std::string& key) { return key.size() > kMaxKeyBytes; };
  if (std::any_of(keys.begin(), keys.end(), is_long)) return too_long();
  std::vector<std::uint32_t> ids;
  for (const std::string& key : keys) {
    ids.push_back(request({.kind = StoreFrameKind::kGet, .key = key}));
  }
  const auto all_came = [&] {
    const auto came = [this](std::uint32_t id) { return answers_.contains(id); };
    return !broken_.ok() || std::all_of(ids.begin(), ids.end(), came);
  };
  (void)engine_->wait(all_came, deadline);
  const Engine::Baton baton = engine_->hold();
  std::vector<std::optional<std::string>> values(keys.size());
  bool complete = true;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    auto answer = answers_.extract(ids[i]);
    if (answer.empty()) {
      complete = false;
    } else if (answer.mapped().kind == StoreFrameKind::kValue) {
      values[i] = std::move(answer.mapped().value);
    } else {
      return Status(Code::kExhausted, Scope::kOperation, "store: " + answer.mapped().value);
    }
  }
  if (!complete && !broken_.ok()) return broken_;
  return values;
}

std::uint32_t StoreClient::request(StoreFrame frame) {
  const Engine::Baton baton = engine_->hold();
  frame.id = next_id_++;
  append_frame(frame, outgoing_);
  return frame.id;
}

bool StoreClient::drive(TimePoint) {
  if (!connected_ || !broken_.ok()) return false;
  const bool wrote = write_some();
  return read_some() || wrote;
}

bool StoreClient::on_ready(std::uint32_t events) {
  if (connected_ || !broken_.ok()) return false;  // drive() looks by itself
  broken_ = connect_error(fd_.get(), address_);
  connected_ = broken_.ok() && (events & EPOLLOUT) != 0;
  return true;
}

bool StoreClient::read_some() {
  std::byte buffer[4096];
  bool moved = false;
  while (broken_.ok()) {
    const ssize_t got = ::recv(fd_.get(), buffer, sizeof buffer, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return moved;
    moved = true;
    if (got > 0) {
      incoming_.insert(incoming_.end(), buffer, buffer + got);
      if (proven_) take_answers();
      continue;
    }
    broken_ = Status(Code::kPeerLost, Scope::kGroup,
                     "the store at " + address_.to_string() + " has gone away");
  }
  return moved;
}

bool StoreClient::write_some() {
  bool moved = false;
  while (!outgoing_.empty()) {
    const ssize_t sent = ::send(fd_.get(), outgoing_.data(), outgoing_.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return moved;  // an error shows itself to the reader
    outgoing_.erase(outgoing_.begin(), outgoing_.begin() + sent);
    moved = true;
  }
  return moved;
}

void StoreClient::take_answers() {
  ByteView bytes = incoming_;
  while (true) {
    Result<std::optional<StoreFrame>> frame = take_frame(bytes);
    if (!frame.ok()) broken_ = frame.status();
    if (!frame.ok() || !frame->has_value()) break;
    const std::uint32_t id = (*frame)->id;
    answers_.insert_or_assign(id, **std::move(frame));
  }
  incoming_.erase(incoming_.begin(), incoming_.end() - std::ssize(bytes));
}

}  // namespace paceline
