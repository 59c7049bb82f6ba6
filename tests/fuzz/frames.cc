// The bytes of another process on a connection that groups share: good frames and noise,
// in pieces of any size, while receives are posted, groups abort or leave, and this side writes.
// The input is a script. Every request ends once, its buffer is not written after that, and what is
// decoded is encoded to the same bytes again.

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <vector>

#include "comm/base/assert.h"
#include "comm/transport/process_link.h"
#include "tests/fuzz/fuzz_input.h"

namespace paceline {
namespace {

constexpr std::uint64_t kGroups = 3;

// Bytes that have come and were not read, and room for those that are written.
class Wire final : public ByteStream {
 public:
  Transfer write(std::span<const ByteView> parts) override {
    if (room == 0) return {};
    std::size_t moved = 0;
    for (const ByteView part : parts) moved += std::min(part.size(), room - moved);
    room -= moved;
    return {.state = moved > 0 ? StreamState::kMoved : StreamState::kIdle, .bytes = moved};
  }
  Transfer read(std::span<const std::span<std::byte>> parts) override {
    std::size_t moved = 0;
    for (const std::span<std::byte> part : parts)
      for (std::byte& byte : part) {
        if (incoming.empty()) break;
        byte = incoming.front();
        incoming.pop_front();
        ++moved;
      }
    return {.state = moved > 0 ? StreamState::kMoved : StreamState::kIdle,
            .bytes = moved,
            .was_all = incoming.empty()};
  }
  const Status& error() const override { return error_; }

  std::deque<std::byte> incoming;
  std::size_t room = 0;

 private:
  Status error_;
};

class Script final : private RequestListener, private TransportSink {
 public:
  explicit Script(fuzz::FuzzInput input) : input_(input) {
    for (std::uint64_t group = 0; group < kGroups; ++group)
      lanes_[group] = std::make_unique<Lane>(link_, group, Culprit{.rank = 1});
  }

  void run() {
    while (!input_.empty() && !broken_) step();
    link_.lose(Status(Code::kPeerLost, Scope::kPeer, "the script has ended"));
    for (const auto& lane : lanes_)
      if (lane != nullptr) lane->abort(Status(Code::kCancelled, Scope::kGroup, "the end"));
    for (const auto& one : requests_) PACELINE_ASSERT(one->ended);
  }

 private:
  struct One {
    Request request;
    std::vector<std::byte> buffer;
    bool ended = false;
  };

  void step() {
    const std::uint8_t what = input_.byte();
    const std::uint64_t group = what / 16 % 4;  // one more than there are
    const auto& lane = lanes_[std::min(group, kGroups - 1)];
    switch (what % 8) {
      case 0:
        return feed(input_.bytes(input_.byte()));
      case 1:
      case 2:
        return frame(group);
      case 3:
      case 4: {
        if (lane == nullptr) return;
        One& one = make(input_.byte());
        return what % 8 == 3 ? lane->receive(one.buffer, one.request)
                             : lane->send({}, one.buffer, one.request);
      }
      case 5:
        wire_.room = std::size_t{input_.byte()} * 16;
        return (void)link_.flush(wire_);
      case 6:
        if (lane != nullptr) (void)lane->report(1, this);
        return;
      default:
        if (lane != nullptr) lane->abort(Status(Code::kCancelled, Scope::kGroup, "aborted"));
        if (what >= 128) lanes_[std::min(group, kGroups - 1)].reset();
    }
  }

  void frame(std::uint64_t group) {
    const std::uint8_t kind = input_.byte() % 4;
    const ByteView body = input_.bytes(input_.byte());
    const bool has_bytes = kind == 0 || kind == 2;
    const FrameHeader header{.group = group,
                             .bytes = has_bytes ? static_cast<std::uint32_t>(body.size()) : 0,
                             .kind = static_cast<FrameKind>(kind)};
    const FrameHeaderBytes bytes = encode_frame(header);
    if (const Result<FrameHeader> again = decode_frame(bytes); again.ok())
      PACELINE_ASSERT(*again == header && encode_frame(*again) == bytes);
    feed(kind == 0 ? fuzz::joined(bytes, body) : Bytes(bytes.begin(), bytes.end()));
  }

  void feed(ByteView bytes) {
    wire_.incoming.insert(wire_.incoming.end(), bytes.begin(), bytes.end());
    broken_ = link_.read(wire_) == StreamState::kBroken;
    PACELINE_ASSERT(broken_ == !link_.error().ok());
  }

  One& make(std::size_t bytes) {
    auto one = std::make_unique<One>();
    one->request = {.listener = this, .tag = static_cast<std::uint32_t>(requests_.size())};
    one->buffer.resize(bytes);
    return *requests_.emplace_back(std::move(one));
  }
  void ended(Request& request) override {
    One& one = *requests_[request.tag];
    PACELINE_ASSERT(!one.ended);
    one.ended = true;
    one.buffer = {};  // a later access is found by the address sanitizer
  }
  void told(int, MessageKind kind, ByteView payload) override {
    PACELINE_ASSERT(!meets_receive(kind) && payload.size() <= kMaxControlBytes);
  }
  void waits(int, const Signature&) override {}

  fuzz::FuzzInput input_;
  Wire wire_;
  ProcessLink link_;
  std::array<std::unique_ptr<Lane>, kGroups> lanes_;
  std::vector<std::unique_ptr<One>> requests_;
  bool broken_ = false;
};

}  // namespace
}  // namespace paceline

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  paceline::Script(paceline::fuzz::FuzzInput(data, size)).run();
  return 0;
}
