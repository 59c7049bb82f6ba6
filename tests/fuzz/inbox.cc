// What a connected peer sends, as the receiving end of a connection takes it apart: good
// messages and noise, in pieces of any size, before and after the receives that they are for. The
// input is a script. Every receive ends once and its buffer is not touched after that; as long as
// there was no noise, the k-th message meets the k-th receive with the bytes that were sent.

#include <algorithm>
#include <deque>
#include <memory>
#include <vector>

#include <sys/socket.h>
#include <unistd.h>

#include "comm/account.h"
#include "comm/base/assert.h"
#include "comm/base/unique_fd.h"
#include "comm/transport/socket_stream.h"
#include "comm/transport/stream_inbox.h"
#include "tests/fuzz/fuzz_input.h"

namespace paceline {
namespace {

// Receives of an inbox, and the messages that should meet them.
class Receives final : public RequestListener {
 public:
  Receives() = default;

  void post(StreamInbox& inbox, std::size_t bytes) {
    Receive& receive = receives_.emplace_back();
    receive.request.listener = this;
    receive.request.tag = static_cast<std::uint32_t>(receives_.size() - 1);
    receive.buffer = std::make_unique<std::byte[]>(bytes);
    receive.bytes = bytes;
    inbox.post(std::span(receive.buffer.get(), bytes), receive.request);
  }
  /// The next data message is of so many bytes, each of them its number.
  std::uint8_t expect(std::size_t bytes) {
    sent_bytes_.push_back(bytes);
    return static_cast<std::uint8_t>(sent_bytes_.size() - 1);
  }
  /// From here on anything may come.
  void expect_anything() { strict_ = false; }

  void ended(Request& request) override {
    Receive& receive = receives_[request.tag];
    PACELINE_ASSERT(receive.buffer != nullptr);
    if (strict_) check(receive);
    receive.buffer.reset();
  }
  bool all_ended() const { return have_ended(receives_.size()); }
  /// Without noise: has each receive ended whose message has been sent?
  bool as_expected() const {
    return !strict_ || have_ended(std::min(receives_.size(), sent_bytes_.size()));
  }
  bool strict() const { return strict_; }

 private:
  struct Receive {
    Request request;
    std::unique_ptr<std::byte[]> buffer;  // until it has ended
    std::size_t bytes = 0;
  };

  bool have_ended(std::size_t count) const {
    return std::all_of(receives_.begin(), receives_.begin() + static_cast<std::ptrdiff_t>(count),
                       [](const Receive& receive) { return receive.buffer == nullptr; });
  }
  void check(const Receive& receive) const {
    const std::size_t number = receive.request.tag;
    PACELINE_ASSERT(number < sent_bytes_.size());
    PACELINE_ASSERT(receive.request.signature.sequence == number);
    PACELINE_ASSERT(receive.request.status.ok() == (receive.bytes == sent_bytes_[number]));
    if (!receive.request.status.ok()) return;
    PACELINE_ASSERT(std::all_of(
        receive.buffer.get(), receive.buffer.get() + receive.bytes,
        [&](std::byte byte) { return static_cast<std::uint8_t>(byte) == (number & 0xFF); }));
  }

  std::deque<Receive> receives_;
  std::vector<std::size_t> sent_bytes_;
  bool strict_ = true;
};

// Of what the inbox reports.
class Reader final : public TransportSink {
 public:
  void told(int, MessageKind kind, ByteView payload) override {
    PACELINE_ASSERT(kind != MessageKind::kData);
    PACELINE_ASSERT(payload.size() <= kMaxControlBytes);
    (void)decode_account(payload, 2);
  }
  void waits(int, const Signature&) override {}
};

class Script {
 public:
  explicit Script(fuzz::FuzzInput input) : input_(input) {
    int ends[2];
    PACELINE_ASSERT(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) ==
                    0);
    reader_ = UniqueFd(ends[0]);
    writer_ = UniqueFd(ends[1]);
  }

  void run() {
    while (!input_.empty()) step();
    read_all();
    PACELINE_ASSERT(receives_.as_expected());
    receives_.expect_anything();
    writer_ = UniqueFd();
    read_all();
    inbox_.end_receives(Status(Code::kPeerLost, Scope::kPeer, "the script has ended"));
    PACELINE_ASSERT(receives_.all_ended() && !inbox_.expects());
  }

 private:
  void step() {
    switch (const std::uint8_t what = input_.byte(); what % 8) {
      case 0:
      case 1:
        return receives_.post(inbox_, input_.byte());
      case 2:
      case 3:
        return write_message(what % 16 < 8 ? MessageKind::kData
                                           : static_cast<MessageKind>(1 + what / 16 % 4));
      case 4:
        receives_.expect_anything();
        return write(input_.bytes(input_.byte()));
      case 5:
        return take_controls();
      case 6:
        receives_.expect_anything();
        return inbox_.end_receives(Status(Code::kCancelled, Scope::kGroup, "aborted"));
      default:
        return read();
    }
  }

  // Cut in two by a read where the input says so.
  void write_message(MessageKind kind) {
    const std::size_t size = input_.byte(), cut = input_.byte();
    MessageHeader header{.kind = kind, .payload_bytes = size};
    std::uint8_t content = 0;
    if (kind == MessageKind::kData) {
      content = receives_.expect(size);
      header.signature.sequence = messages_++;
    }
    const HeaderBytes encoded = encode_header(header);
    Bytes message(encoded.begin(), encoded.end());
    message.resize(message.size() + size, static_cast<std::byte>(content));
    const ByteView bytes = message;
    write(bytes.first(std::min(cut, bytes.size())));
    if (cut % 2 == 1) read();
    write(bytes.subspan(std::min(cut, bytes.size())));
  }
  void write(ByteView bytes) {
    while (!bytes.empty()) {
      ssize_t sent = ::send(writer_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0) {
        read_all();  // it was full
        sent = ::send(writer_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      }
      if (sent < 0) return receives_.expect_anything();  // nobody reads: a message is cut
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
    }
  }

  void read() {
    if (broken_) return;
    SocketStream stream(reader_.get());
    const StreamState state = inbox_.read(stream);
    broken_ = state == StreamState::kBroken;
    PACELINE_ASSERT(broken_ == !inbox_.error().ok() && !(broken_ && receives_.strict()));
  }
  void read_all() {
    read();
    while (inbox_.crowded()) {
      take_controls();
      read();
    }
  }
  void take_controls() {
    Reader reader;
    (void)inbox_.report(0, &reader);
    PACELINE_ASSERT(!inbox_.report(0, &reader) && !inbox_.crowded());
  }

  fuzz::FuzzInput input_;
  UniqueFd reader_, writer_;
  Receives receives_;
  StreamInbox inbox_;
  std::uint64_t messages_ = 0;
  bool broken_ = false;
};

}  // namespace
}  // namespace paceline

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  paceline::Script(paceline::fuzz::FuzzInput(data, size)).run();
  return 0;
}
