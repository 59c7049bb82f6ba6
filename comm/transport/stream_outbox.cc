#include "comm/transport/stream_outbox.h"

#include <algorithm>
#include <utility>

namespace paceline {
namespace {

constexpr std::size_t kMessagesPerWrite = ByteStream::kMaxParts / 2;  // header and payload

bool is_last_word(MessageKind kind) {
  return kind == MessageKind::kNotice || kind == MessageKind::kGoodbye;
}

}  // namespace

void StreamOutbox::push_data(const Signature& signature, std::span<const std::byte> payload,
                             Request& request) {
  const MessageHeader header{
      .kind = MessageKind::kData, .signature = signature, .payload_bytes = payload.size()};
  entries_.push_back({.kind = MessageKind::kData,
                      .header = encode_header(header),
                      .payload = payload,
                      .request = &request});
}

void StreamOutbox::push_loan(const Signature& signature, const Loan& loan) {
  const LoanBytes payload = encode_loan(loan);
  push_own({.kind = MessageKind::kLoan, .signature = signature, .payload_bytes = payload.size()},
           payload);
}

void StreamOutbox::push_control(MessageKind kind, ByteView payload) {
  push_own({.kind = kind, .payload_bytes = payload.size()}, payload);
  has_last_word_ |= is_last_word(kind);
}

void StreamOutbox::push_own(const MessageHeader& header, ByteView payload) {
  Entry& entry = entries_.emplace_back(Entry{.kind = header.kind,
                                             .header = encode_header(header),
                                             .payload = {},
                                             .request = nullptr,
                                             .own = Bytes(payload.begin(), payload.end())});
  entry.payload = entry.own;
  ++owned_;
}

StreamState StreamOutbox::flush(ByteStream& stream) {
  StreamState state = StreamState::kIdle;
  while (!entries_.empty()) {
    ByteParts parts;
    for (std::size_t i = 0; i < entries_.size() && i < kMessagesPerWrite; ++i)
      entries_[i].add_to(parts, entries_[i].sent, entries_[i].unsent());
    const Transfer sent = stream.write(parts.all());
    if (sent.state == StreamState::kIdle) return state;
    if (sent.state != StreamState::kMoved) return sent.state;
    advance(sent.bytes);
    state = StreamState::kMoved;
  }
  return state;
}

void StreamOutbox::Entry::add_to(ByteParts& parts, std::size_t begin, std::size_t bytes) const {
  const std::size_t in_header = begin < kHeaderBytes ? std::min(bytes, kHeaderBytes - begin) : 0;
  parts.add(ByteView(header).subspan(std::min(begin, kHeaderBytes), in_header));
  const std::size_t skipped = begin < kHeaderBytes ? 0 : begin - kHeaderBytes;
  parts.add(payload.subspan(skipped, bytes - in_header));
}

std::size_t StreamOutbox::piece(std::size_t offset, std::size_t most) const {
  for (const Entry& entry : entries_) {
    if (offset >= entry.unsent()) {
      offset -= entry.unsent();
      continue;
    }
    const std::size_t begin = entry.sent + offset;
    return std::min(entry.size(), begin - begin % most + most) - begin;
  }
  return 0;
}

void StreamOutbox::gather(std::size_t offset, std::size_t bytes, ByteParts& parts) const {
  for (const Entry& entry : entries_) {
    if (offset >= entry.unsent()) {
      offset -= entry.unsent();
      continue;
    }
    return entry.add_to(parts, entry.sent + offset, bytes);
  }
}

void StreamOutbox::advance(std::size_t bytes) {
  while (bytes > 0) {
    Entry& entry = entries_.front();
    const std::size_t taken = std::min(bytes, entry.size() - entry.sent);
    entry.sent += taken;
    bytes -= taken;
    if (entry.sent < entry.size()) return;
    Request* request = entry.request;
    entries_.pop_front();
    if (request != nullptr) {
      request->end({});
    } else {
      --owned_;
    }
  }
}

void StreamOutbox::drop_data(const Status& why, std::size_t announced) {
  std::deque<Entry> kept;
  for (Entry& entry : std::exchange(entries_, {})) {
    const bool has_begun = entry.sent > 0 || announced > 0;
    announced -= std::min(announced, entry.unsent());
    if (!has_begun && !is_last_word(entry.kind)) {
      drop(entry, why);
      continue;
    }
    if (entry.request != nullptr) {
      entry.own.assign(entry.payload.begin(), entry.payload.end());
      entry.payload = entry.own;
      ++owned_;
      std::exchange(entry.request, nullptr)->end(why);
    }
    kept.push_back(std::move(entry));
  }
  entries_ = std::move(kept);
}

void StreamOutbox::drop_all(const Status& why) {
  for (Entry& entry : std::exchange(entries_, {})) drop(entry, why);
}

void StreamOutbox::drop(Entry& entry, const Status& why) {
  if (entry.request != nullptr) {
    entry.request->end(why);
  } else {
    --owned_;
  }
}

}  // namespace paceline
