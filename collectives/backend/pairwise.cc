#include "collectives/backend/pairwise.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "comm/base/argument_error.h"
#include "comm/base/byte_ranges.h"
#include "comm/base/try.h"

namespace paceline {
namespace {

std::size_t bytes_of(const Message& message) { return message.count * size_of(message.type); }

Status validate_message(const Message& message, int ranks) {
  const std::size_t element = size_of(message.type);
  if (element == 0) return argument_error("unknown data type");
  if (message.peer < 0 || message.peer >= ranks) {
    return argument_error("peer " + std::to_string(message.peer) + " is not in 0.." +
                          std::to_string(ranks - 1));
  }
  if (message.count > SIZE_MAX / 2 / element) return argument_error("count is too large");
  const void* const buffer = message.is_sent ? message.in : message.out;
  if (buffer == nullptr && message.count > 0) return argument_error("a buffer is null");
  return {};
}

Status validate_buffers(std::span<const Message> messages) {
  ByteRangeSet buffers;
  for (const Message& message : messages) {
    if (message.is_sent) buffers.read(message.in, bytes_of(message));
    if (!message.is_sent) buffers.write(message.out, bytes_of(message));
  }
  if (!buffers.is_disturbed()) return {};
  return argument_error("a receive buffer overlaps another buffer of the same exchange");
}

// The messages of `rank` to itself, in one direction.
std::vector<const Message*> own_messages(std::span<const Message> messages, int rank,
                                         bool are_sent) {
  std::vector<const Message*> own;
  for (const Message& message : messages) {
    if (message.peer == rank && message.is_sent == are_sent) own.push_back(&message);
  }
  return own;
}

Status validate_own(std::span<const Message> messages, int rank) {
  const auto sent = own_messages(messages, rank, true);
  const auto received = own_messages(messages, rank, false);
  const auto meet = [](const Message* one, const Message* other) {
    return one->count == other->count && one->type == other->type;
  };
  if (std::ranges::equal(sent, received, meet)) return {};
  return argument_error(
      "the messages that this rank sends to itself differ in number, count or type from those that "
      "it receives from itself in the same exchange");
}

}  // namespace

PairwiseBackend::PairwiseBackend(Transport* transport, int rank, int ranks)
    : transport_(transport), rank_(rank), pairs_(static_cast<std::size_t>(ranks)) {}

std::span<const Message> PairwiseBackend::messages_of(const OperationRequest& request,
                                                      Message& single) const {
  const Signature& call = request.signature;
  if (call.kind == OperationKind::kExchange) return request.messages;
  single = call.kind == OperationKind::kSend
               ? Message::sent(request.input, call.count, call.type, call.root)
               : Message::received(request.output, call.count, call.type, call.root);
  return {&single, 1};
}

Status PairwiseBackend::validate(const OperationRequest& request) const {
  Message single;
  const std::span<const Message> messages = messages_of(request, single);
  for (const Message& message : messages)
    PACELINE_TRY(validate_message(message, static_cast<int>(pairs_.size())));
  if (messages.size() > 1) PACELINE_TRY(validate_buffers(messages));
  return validate_own(messages, rank_);
}

Status PairwiseBackend::start(OperationRequest& request) {
  messages_ = messages_of(request, single_);
  signature_ = request.signature;
  failure_ = {};
  disagreement_.reset();
  pending_.assign(messages_.size(), true);
  numbers_.resize(messages_.size());
  if (requests_.size() < messages_.size()) requests_.resize(messages_.size());
  left_ = messages_.size();
  return {};
}

bool PairwiseBackend::linger(const Clock& clock, TimePoint& now) {
  begin_messages();
  copy_own();
  if (!ended() || !failure_.ok()) return false;
  now = clock.now();
  return true;
}

bool PairwiseBackend::drive(TimePoint) { return std::exchange(moved_, false); }

// Receives first: what comes then goes straight to where it belongs.
void PairwiseBackend::begin_messages() {
  for (std::size_t i = 0; i < messages_.size(); ++i)
    if (!messages_[i].is_sent && !is_own(messages_[i])) receive(i);
  for (std::size_t i = 0; i < messages_.size(); ++i)
    if (messages_[i].is_sent && !is_own(messages_[i])) send(i);
}

void PairwiseBackend::receive(std::size_t index) {
  const Message& message = messages_[index];
  numbers_[index] = pairs_[static_cast<std::size_t>(message.peer)].received++;
  requests_[index] = {.listener = this, .tag = static_cast<std::uint32_t>(index)};
  transport_->receive(message.peer, {static_cast<std::byte*>(message.out), bytes_of(message)},
                      requests_[index]);
}

void PairwiseBackend::send(std::size_t index) {
  const Message& message = messages_[index];
  numbers_[index] = pairs_[static_cast<std::size_t>(message.peer)].sent++;
  requests_[index] = {.listener = this, .tag = static_cast<std::uint32_t>(index)};
  ++open_;
  transport_->send(message.peer, sent_signature(message, message.peer, numbers_[index]),
                   {static_cast<const std::byte*>(message.in), bytes_of(message)},
                   requests_[index]);
}

void PairwiseBackend::copy_own() {
  const auto sent = own_messages(messages_, rank_, true);
  const auto received = own_messages(messages_, rank_, false);
  for (std::size_t i = 0; i < sent.size(); ++i) {
    if (sent[i]->count > 0) std::memcpy(received[i]->out, sent[i]->in, bytes_of(*sent[i]));
    left_ -= 2;
  }
}

void PairwiseBackend::ended(Request& request) {
  const Message& message = messages_[request.tag];
  pending_[request.tag] = false;
  --left_;
  moved_ = true;
  if (!message.is_sent) check(message, numbers_[request.tag], request);
  if (failure_.ok()) failure_ = request.status;
}

// Another operation's message is the more telling error than its length.
void PairwiseBackend::check(const Message& message, std::uint32_t number, const Request& request) {
  const bool came = request.status.ok() || request.status.code() == Code::kMismatch;
  if (!came || !failure_.ok()) return;
  const Signature due = sent_signature(message, rank_, number);
  if (request.signature == due && request.status.ok()) {
    --open_;
    return;
  }
  disagreement_ = {.peer = message.peer,
                   .theirs = request.signature,
                   .mine = own_words(message),
                   .difference = difference(request.signature, due)};
  if (disagreement_->difference.empty()) disagreement_->difference = request.status.text();
  failure_ = Status(Code::kMismatch, Scope::kGroup, "ranks called different operations");
}

// As its sender says it, whichever end this rank is.
Signature PairwiseBackend::sent_signature(const Message& message, int to,
                                          std::uint32_t number) const {
  return {.sequence = signature_.sequence,
          .count = message.count,
          .root = to,
          .kind = OperationKind::kSend,
          .type = message.type,
          .plan = number,
          .history = signature_.history};
}

Signature PairwiseBackend::own_words(const Message& message) const {
  return {.sequence = signature_.sequence,
          .count = message.count,
          .root = message.peer,
          .kind = message.is_sent ? OperationKind::kSend : OperationKind::kReceive,
          .type = message.type,
          .history = signature_.history};
}

std::vector<int> PairwiseBackend::awaited() const {
  std::vector<int> peers;
  for (std::size_t i = 0; i < messages_.size(); ++i) {
    if (pending_[i] && !is_own(messages_[i])) peers.push_back(messages_[i].peer);
  }
  std::ranges::sort(peers);
  peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
  return peers;
}

std::optional<Signature> PairwiseBackend::awaited_with(int peer) const {
  for (std::size_t i = 0; i < messages_.size(); ++i) {
    if (pending_[i] && messages_[i].peer == peer) return own_words(messages_[i]);
  }
  return {};
}

bool PairwiseBackend::has_received(int peer, const Signature& theirs) const {
  // Numbers wrap.
  const std::uint32_t received = pairs_[static_cast<std::size_t>(peer)].received;
  return static_cast<std::int32_t>(received - theirs.plan) > 0;
}

}  // namespace paceline
