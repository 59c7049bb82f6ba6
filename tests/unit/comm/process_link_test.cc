// Two processes and the groups that they are both in, over connections that take and give little
// at a time, break, and are made anew: in an order that a seed decides.
#include "comm/transport/process_link.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "comm/base/random.h"
#include "tests/harness/ranks.h"

namespace paceline {
namespace {

// One direction of a connection.
class Pipe final : public ByteStream {
 public:
  explicit Pipe(Random& random) : random_(random) {}

  Transfer write(std::span<const ByteView> parts) override {
    if (broken) return {.state = StreamState::kBroken};
    std::size_t room = kRoom - bytes_.size();
    if (room > 0) room = 1 + random_.below(room);
    std::size_t moved = 0;
    for (const ByteView part : parts) {
      const ByteView taken = part.first(std::min(part.size(), room - moved));
      bytes_.insert(bytes_.end(), taken.begin(), taken.end());
      moved += taken.size();
    }
    total += moved;
    return of(moved);
  }
  Transfer read(std::span<const std::span<std::byte>> parts) override {
    if (bytes_.empty() && broken) return {.state = StreamState::kClosed};
    const std::size_t most = bytes_.empty() ? 0 : 1 + random_.below(bytes_.size());
    std::size_t moved = 0;
    for (const std::span<std::byte> part : parts) {
      const std::size_t taken = std::min(part.size(), most - moved);
      std::copy_n(bytes_.begin(), taken, part.begin());
      bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(taken));
      moved += taken;
    }
    Transfer transfer = of(moved);
    transfer.was_all = bytes_.empty();
    return transfer;
  }
  const Status& error() const override { return error_; }

  /// Bytes that have not been read by then may be lost.
  void cut() {
    broken = true;
    bytes_.resize(random_.below(bytes_.size() + 1));
  }

  bool broken = false;
  std::uint64_t total = 0;

 private:
  static constexpr std::size_t kRoom = 100'000;
  static Transfer of(std::size_t moved) {
    return {.state = moved > 0 ? StreamState::kMoved : StreamState::kIdle, .bytes = moved};
  }
  Random& random_;
  Bytes bytes_;
  const Status error_ = Status(Code::kPeerLost, Scope::kGroup, "the pipe is broken");
};

Bytes content(std::uint64_t group, int from, std::size_t message, std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; i += 97)
    bytes[i] =
        static_cast<std::byte>(group * 31 + message * 7 + static_cast<std::size_t>(from) + i);
  return bytes;
}

// Longer than a piece, and than a window.
constexpr std::array<std::size_t, 8> kSizes = {0, 1, 47, 4096, 70'001, 262'096, 300'007, 4'500'000};
std::size_t size_of_message(std::uint64_t group, std::size_t message) {
  return kSizes[(group * 5 + message * 3) % (message % 11 == 10 ? kSizes.size() : 7)];
}

/// One process's end of a group: the k-th message of each direction has a known content.
class End final : private RequestListener, private TransportSink {
 public:
  End(ProcessLink& link, std::uint64_t group, int process)
      : group_(group),
        process_(process),
        lane(std::make_unique<Lane>(link, group, Culprit{.rank = 1 - process})) {}
  ~End() {
    if (lane != nullptr) leave();
  }

  void send() {
    Slot& slot = make_slot(sent++, process_);
    lane->send({.sequence = slot.message}, slot.bytes, slot.request);
  }
  void receive() {
    Slot& slot = make_slot(received++, 1 - process_);
    slot.expected = std::exchange(slot.bytes, Bytes(slot.bytes.size(), std::byte{0xEE}));
    lane->receive(slot.bytes, slot.request);
  }
  void tell() { lane->tell(MessageKind::kAnswer, content(group_, process_, 0, 100)); }
  void report() { (void)lane->report(1 - process_, this); }
  void abort() {
    lane->abort(Status(Code::kCancelled, Scope::kGroup, "enough"));
    aborted = true;
  }
  void leave() {
    if (!aborted) abort();
    lane.reset();
    for (const auto& slot : slots_) EXPECT_EQ(slot->ends, 1) << "a request was left";
  }
  bool has_pending() const {
    return std::ranges::any_of(slots_, [](const auto& slot) { return slot->ends == 0; });
  }

  std::size_t sent = 0, received = 0, told_count = 0;
  bool aborted = false;

 private:
  struct Slot {
    Request request;
    std::size_t message = 0;
    Bytes bytes;
    std::optional<Bytes> expected{};  // of a receive
    int ends = 0;
  };
  Slot& make_slot(std::size_t message, int from) {
    auto slot = std::make_unique<Slot>();
    slot->request = {.listener = this, .tag = static_cast<std::uint32_t>(slots_.size())};
    slot->message = message;
    slot->bytes = content(group_, from, message, size_of_message(group_, message));
    return *slots_.emplace_back(std::move(slot));
  }
  void ended(Request& request) override {
    Slot& slot = *slots_[request.tag];
    EXPECT_EQ(++slot.ends, 1);
    const Status& how = request.status;
    if (!how.ok()) {
      const bool is_expected =
          how.code() == (aborted ? Code::kCancelled : Code::kPeerLost) || lane->lost();
      EXPECT_TRUE(is_expected || how.code() == Code::kCancelled) << how.to_string();
      return;
    }
    if (!slot.expected) return;
    EXPECT_EQ(request.signature.sequence, slot.message);
    EXPECT_TRUE(slot.bytes == *slot.expected) << "message " << slot.message << " came wrong";
  }
  void told(int peer, MessageKind kind, ByteView payload) override {
    ++told_count;
    EXPECT_EQ(peer, 1 - process_);
    EXPECT_EQ(kind, MessageKind::kAnswer);
    EXPECT_TRUE(std::ranges::equal(payload, content(group_, peer, 0, 100)));
  }
  void waits(int, const Signature&) override {}

  const std::uint64_t group_;
  const int process_;
  std::vector<std::unique_ptr<Slot>> slots_;

 public:
  std::unique_ptr<Lane> lane;
};

class TwoProcesses {
 public:
  explicit TwoProcesses(std::uint64_t seed) : random(seed) { connect(); }

  void make_group() {
    const std::uint64_t group = ++groups_;
    for (int process = 0; process < 2; ++process)
      ends[at(process)][group] = std::make_unique<End>(links[at(process)], group, process);
  }
  void write(int process) {
    if (!is_up[at(process)]) return;
    if (links[at(process)].flush(*pipes[at(process)]) == StreamState::kBroken) lose(process);
  }
  void read(int process) {
    if (!is_up[at(process)]) return;
    const StreamState state = links[at(process)].read(*pipes[at(1 - process)]);
    EXPECT_NE(state, StreamState::kBroken) << links[at(process)].error().to_string();
    if (state == StreamState::kClosed) lose(process);
  }
  void break_connections() {
    for (const auto& pipe : pipes) pipe->cut();
  }
  /// A new connection, where both have seen the end of the last.
  void connect() {
    if (is_up[0] || is_up[1]) return;
    for (auto& pipe : pipes) pipe = std::make_unique<Pipe>(random);
    is_up = {true, true};
  }
  End* any(int process) {
    auto& all = ends[at(process)];
    if (all.empty()) return nullptr;
    return std::next(all.begin(), static_cast<std::ptrdiff_t>(random.below(all.size())))
        ->second.get();
  }
  void leave_one(int process) {
    auto& all = ends[at(process)];
    if (all.empty()) return;
    all.erase(std::next(all.begin(), static_cast<std::ptrdiff_t>(random.below(all.size()))));
  }
  /// Everything that can move has.
  void settle() {
    for (int round = 0; round < 5000; ++round) {
      for (int process = 0; process < 2; ++process) {
        write(process);
        read(process);
        for (const auto& [group, end] : ends[at(process)]) end->report();
      }
    }
  }
  static std::size_t at(int process) { return static_cast<std::size_t>(process); }

  Random random;
  std::array<ProcessLink, 2> links;
  std::array<std::unique_ptr<Pipe>, 2> pipes;  // by who writes
  std::array<bool, 2> is_up{};
  std::array<std::map<std::uint64_t, std::unique_ptr<End>>, 2> ends;  // by group

 private:
  void lose(int process) {
    is_up[at(process)] = false;
    links[at(process)].lose(Status(Code::kPeerLost, Scope::kGroup, "the pipe has ended"));
    for (const auto& pipe : pipes) pipe->cut();
  }
  std::uint64_t groups_ = 0;
};

void step(TwoProcesses& two) {
  const int process = static_cast<int>(two.random.below(2));
  const std::uint64_t what = two.random.below(1000);
  End* const end = two.any(process);
  if (what < 300) return two.write(process);
  if (what < 600) return two.read(process);
  if (what < 603) return two.break_connections();
  if (what < 640) return two.connect();
  if (what < 660) return two.make_group();
  if (what < 668) return two.leave_one(process);
  if (end == nullptr) return;
  if (what < 670) return end->abort();
  if (what < 690) return end->tell();
  if (what < 800) return end->report();
  if (end->aborted) return;
  return what < 900 ? end->send() : end->receive();
}

TEST(ProcessLink, EveryRequestEndsOnceAndRightWhateverBreaks) {
  for (const std::uint64_t seed : testing::seeds(200)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    TwoProcesses two(seed);
    two.make_group();
    for (int i = 0; i < 1500; ++i) step(two);
    two.settle();
    for (auto& all : two.ends) all.clear();
    if (::testing::Test::HasFailure()) return;
  }
}

// One group receives nothing, another receives all that comes.
TEST(ProcessLink, AGroupWhoseBacklogIsFullStopsNoOther) {
  for (const std::uint64_t seed : testing::seeds(5)) {
    TwoProcesses two(seed);
    two.make_group();
    two.make_group();
    End& stuck = *two.ends[0][1];
    End& goes_on = *two.ends[0][2];
    for (int i = 0; i < 200; ++i) stuck.send();
    for (int i = 0; i < 100; ++i) {
      goes_on.send();
      two.ends[1][2]->receive();
    }
    two.settle();
    EXPECT_FALSE(goes_on.has_pending());
    EXPECT_FALSE(two.ends[1][2]->has_pending());
    EXPECT_TRUE(stuck.has_pending());
    for (int i = 0; i < 200; ++i) two.ends[1][1]->receive();
    two.settle();
    EXPECT_FALSE(stuck.has_pending());
    EXPECT_FALSE(two.ends[1][1]->has_pending());
  }
}

// All its credit is used up by messages without receives.
TEST(ProcessLink, AnAbortedGroupStillGetsTheNoticesOfItsSender) {
  TwoProcesses two(1);
  two.make_group();
  for (int i = 0; i < 400; ++i) two.ends[0][1]->send();
  two.settle();
  two.ends[0][1]->tell();
  two.settle();
  EXPECT_EQ(two.ends[1][1]->told_count, 0u);
  two.ends[1][1]->abort();
  two.settle();
  EXPECT_EQ(two.ends[1][1]->told_count, 1u);
}

TEST(ProcessLink, AProcessThatHasLeftAGroupIsLostThereAlone) {
  TwoProcesses two(1);
  two.make_group();
  two.make_group();
  two.ends[1].erase(1);  // before either has said anything
  two.ends[0][1]->receive();
  two.ends[0][2]->send();
  two.ends[1][2]->receive();
  two.settle();
  EXPECT_TRUE(two.ends[0][1]->lane->lost());
  EXPECT_EQ(two.ends[0][1]->lane->loss().culprit().rank, 1);
  EXPECT_FALSE(two.ends[0][2]->lane->lost());
  EXPECT_FALSE(two.ends[1][2]->has_pending());
}

// As comm/transport/tcp.h states it.
TEST(ProcessLink, FramingIsWhatIsStated) {
  TwoProcesses two(1);
  two.make_group();
  std::uint64_t bytes = kFrameHeaderBytes;  // to join
  for (std::size_t message = 0; message < 30; ++message) {
    two.ends[0][1]->send();
    two.ends[1][1]->receive();
    const std::size_t whole = kHeaderBytes + size_of_message(1, message);
    bytes += whole + kFrameHeaderBytes * ((whole + kMaxPieceBytes - 1) / kMaxPieceBytes);
  }
  two.settle();
  EXPECT_FALSE(two.ends[1][1]->has_pending());
  EXPECT_EQ(two.links[0].written(), bytes);
  EXPECT_EQ(two.pipes[0]->total, bytes);
  std::uint64_t came = 0;
  for (std::size_t message = 0; message < 30; ++message)
    came += kHeaderBytes + size_of_message(1, message);
  EXPECT_EQ(two.pipes[1]->total, kFrameHeaderBytes * (1 + came / Lane::kCreditBytes));
}

// The inbox is crowded by control messages, so the malformed one is held at first.
TEST(ProcessLink, AMalformedMessageAmongHeldBytesLosesItsGroupAlone) {
  Random random(1);
  Pipe pipe(random);
  ProcessLink link;
  Lane lane(link, 7, {.rank = 1}), other(link, 8, {.rank = 1});
  const auto feed = [&](ByteView body) {
    const FrameHeaderBytes header =
        encode_frame({.group = 7, .bytes = static_cast<std::uint32_t>(body.size())});
    Bytes frame(header.begin(), header.end());
    frame.insert(frame.end(), body.begin(), body.end());
    for (ByteView rest = frame; !rest.empty();)
      rest = rest.subspan(pipe.write(std::span(&rest, 1)).bytes);
    while (link.read(pipe) == StreamState::kMoved) continue;
  };
  for (std::size_t i = 0; i < StreamInbox::kMaxControls; ++i)
    feed(encode_header({.kind = MessageKind::kAnswer}));
  feed(Bytes(3 * kHeaderBytes, std::byte{0xEE}));
  EXPECT_FALSE(lane.lost());
  EXPECT_TRUE(lane.report(1, nullptr));
  EXPECT_TRUE(lane.lost());
  EXPECT_NE(lane.loss().text().find("malformed"), std::string::npos) << lane.loss().text();
  EXPECT_FALSE(other.lost());
  EXPECT_TRUE(link.error().ok());
  EXPECT_TRUE(link.has_to_send()) << "the other process hears that this one has left";
}

TEST(ProcessLink, APeerThatSendsBeyondItsCreditIsRefused) {
  Random random(1);
  Pipe pipe(random);
  ProcessLink link;
  Lane lane(link, 7, {.rank = 1});
  const Bytes piece(kMaxPieceBytes);
  const FrameHeaderBytes header =
      encode_frame({.group = 7, .bytes = static_cast<std::uint32_t>(kMaxPieceBytes)});
  // The first piece begins a message that no receive waits for; the rest is held.
  const HeaderBytes message = encode_header({.payload_bytes = 100'000'000});
  StreamState state = StreamState::kIdle;
  std::size_t sent = 0;
  for (; state != StreamState::kBroken && sent <= Lane::kWindowBytes; sent += kMaxPieceBytes) {
    Bytes frame(header.begin(), header.end());
    frame.insert(frame.end(), piece.begin(), piece.end());
    if (sent == 0) std::ranges::copy(message, frame.begin() + kFrameHeaderBytes);
    for (ByteView rest = frame; !rest.empty() && state != StreamState::kBroken;) {
      rest = rest.subspan(pipe.write(std::span(&rest, 1)).bytes);
      state = link.read(pipe);
    }
  }
  EXPECT_EQ(state, StreamState::kBroken);
  EXPECT_NE(link.error().text().find("credit"), std::string::npos) << link.error().text();
  link.lose(link.error());
}

}  // namespace
}  // namespace paceline
