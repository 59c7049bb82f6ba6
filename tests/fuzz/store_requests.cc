// The store's requests: several clients of one book, whose bytes come whole, in parts, mixed and
// wrong. The input is a script; beside the book a ledger keeps what each client has asked, so that
//   - no answer comes unasked or twice, and of a good client nothing but a waiting get stays open;
//   - the book's bounds hold after every step, and its counts are what it holds.

#include <algorithm>
#include <iterator>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "comm/base/assert.h"
#include "comm/store_book.h"
#include "tests/fuzz/fuzz_input.h"

namespace paceline {
namespace {

constexpr StoreBook::Limits kLimits{
    .entries = 6, .stored_bytes = 1024, .waiting_gets = 4, .unsent_bytes = 4096};
constexpr std::size_t kMaxClients = 4;
constexpr std::size_t kLongestAnswer = kLimits.stored_bytes + 64;
static_assert(kLongestAnswer > kMaxKeyBytes + 64, "a live value here is its key");

std::optional<std::string> live_value(std::string_view key) {
  if (key == kLivePrefix) return std::nullopt;
  return std::string(key);
}

// One client, seen from its own side.
class Ledger {
 public:
  explicit Ledger(StoreBook::ClientId client) : id(client) {}

  const StoreBook::ClientId id;

  /// What it has sent, as far as the book will take it.
  void note_sent(ByteView bytes, std::set<std::string>& keys) {
    sent_.insert(sent_.end(), bytes.begin(), bytes.end());
    ByteView left = sent_;
    while (!wrong_) {
      const ByteView before = left;
      const Result<std::optional<StoreFrame>> frame = take_frame(left);
      if (frame.ok() && !frame->has_value()) break;
      wrong_ = !frame.ok() || (*frame)->kind > StoreFrameKind::kGet;
      if (!frame.ok()) break;
      PACELINE_ASSERT((*frame)->kind <= StoreFrameKind::kTaken);
      Bytes again;
      append_frame(**frame, again);
      PACELINE_ASSERT(std::equal(again.begin(), again.end(), before.begin(), left.begin()));
      if (!wrong_) note(**frame, keys);
    }
    sent_.erase(sent_.begin(), sent_.end() - std::ssize(left));
  }
  void note_received(ByteView bytes) {
    received_.insert(received_.end(), bytes.begin(), bytes.end());
    ByteView left = received_;
    while (const std::optional<StoreFrame> frame = take_frame(left).value()) check(*frame);
    received_.erase(received_.begin(), received_.end() - std::ssize(left));
  }

  bool wrong() const { return wrong_; }
  /// Requests that have no answer.
  std::size_t open() const {
    std::size_t open = 0;
    for (const auto& [request, asked] : asked_) open += asked.sets + asked.gets - asked.answers();
    return open;
  }

 private:
  // Of the requests with one id: a refusal does not say which of them it answers.
  struct Asked {
    std::size_t sets = 0, gets = 0, done = 0, values = 0, refused = 0;

    std::size_t answers() const { return done + values + refused; }
  };

  void note(const StoreFrame& request, std::set<std::string>& keys) {
    const bool is_set = request.kind == StoreFrameKind::kSet;
    ++(is_set ? asked_[request.id].sets : asked_[request.id].gets);
    if (is_set) keys.insert(request.key);
  }
  void check(const StoreFrame& answer) {
    PACELINE_ASSERT(asked_.contains(answer.id) && answer.kind > StoreFrameKind::kGet);
    Asked& asked = asked_[answer.id];
    asked.done += answer.kind == StoreFrameKind::kDone;
    asked.values += answer.kind == StoreFrameKind::kValue;
    asked.refused +=
        answer.kind == StoreFrameKind::kRefused || answer.kind == StoreFrameKind::kTaken;
    PACELINE_ASSERT(asked.done <= asked.sets && asked.values <= asked.gets);
    PACELINE_ASSERT(asked.answers() <= asked.sets + asked.gets);
  }

  bool wrong_ = false;
  Bytes sent_;
  Bytes received_;
  std::map<std::uint32_t, Asked> asked_;
};

class Script {
 public:
  explicit Script(fuzz::FuzzInput input) : input_(input) {}

  void run() {
    while (!input_.empty()) {
      step();
      check_bounds();
    }
    for (Ledger& client : clients_) drain(client, SIZE_MAX);
    check_open_requests();
    check_contents();
    while (!clients_.empty()) forget(clients_.back());
    PACELINE_ASSERT(book_.counts() == StoreBook::Counts{});
  }

 private:
  void step() {
    const std::uint8_t what = input_.byte();
    if (clients_.empty() || (what % 8 == 0 && clients_.size() < kMaxClients)) {
      clients_.emplace_back(book_.admit());
      return;
    }
    Ledger& client = *std::next(clients_.begin(), what / 8 % std::ssize(clients_));
    switch (what % 8) {
      case 1:
        return forget(client);
      case 2:
      case 3:
        return send(client, input_.bytes(input_.byte()));
      case 4:
        return drain(client, input_.byte());
      default:
        return send(client, request());
    }
  }
  // A good request, now and then cut short.
  Bytes request() {
    const std::uint8_t shape = input_.byte();
    StoreFrame frame{.kind = shape % 2 == 0 ? StoreFrameKind::kSet : StoreFrameKind::kGet,
                     .id = input_.byte()};
    frame.key = (shape & 2 ? std::string(kLivePrefix) : "key") + std::to_string(shape >> 4);
    if (shape % 2 == 0) frame.value = std::string(std::size_t{2} * input_.byte(), 'v');
    Bytes bytes;
    append_frame(frame, bytes);
    if ((shape & 12) == 12) bytes.resize(std::min<std::size_t>(bytes.size(), input_.byte()));
    return bytes;
  }
  void send(Ledger& client, ByteView bytes) {
    if (!book_.broken(client.id)) client.note_sent(bytes, keys_);
    book_.receive(client.id, bytes);
    if (client.wrong()) PACELINE_ASSERT(book_.broken(client.id));
  }
  void drain(Ledger& client, std::size_t most) {
    const ByteView unsent = book_.unsent(client.id);
    const ByteView part = unsent.first(std::min(most, unsent.size()));
    client.note_received(part);
    book_.sent(client.id, part.size());
  }
  void forget(Ledger& client) {
    book_.forget(client.id);
    clients_.remove_if([&client](const Ledger& other) { return &other == &client; });
  }

  void check_bounds() const {
    const StoreBook::Counts counts = book_.counts();
    PACELINE_ASSERT(counts.clients == clients_.size());
    PACELINE_ASSERT(counts.entries <= kLimits.entries);
    PACELINE_ASSERT(counts.stored_bytes <= kLimits.stored_bytes);
    PACELINE_ASSERT(counts.waiting_gets <= kLimits.waiting_gets * clients_.size());
    for (const Ledger& client : clients_) {
      const std::size_t unsent = book_.unsent(client.id).size();
      PACELINE_ASSERT(unsent <= kLimits.unsent_bytes + kLongestAnswer);
    }
  }
  // With all answers read, nothing is open but what waits for its key.
  void check_open_requests() const {
    std::size_t open = 0;
    bool all_well = true;
    for (const Ledger& client : clients_) {
      if (book_.broken(client.id)) {
        all_well = false;
      } else {
        open += client.open();
      }
    }
    const std::size_t waiting = book_.counts().waiting_gets;
    PACELINE_ASSERT(all_well ? open == waiting : open <= waiting);
  }
  // Every key that was ever set is asked for: what is there adds up to the counts.
  void check_contents() {
    const StoreBook::Counts before = book_.counts();
    std::size_t entries = 0, bytes = 0;
    for (const std::string& key : keys_) {
      if (key.starts_with(kLivePrefix)) continue;
      const StoreBook::ClientId reader = book_.admit();
      Bytes get;
      append_frame({.kind = StoreFrameKind::kGet, .key = key}, get);
      book_.receive(reader, get);
      ByteView answer = book_.unsent(reader);
      if (const std::optional<StoreFrame> frame = take_frame(answer).value()) {
        ++entries;
        bytes += frame->value.size();
      }
      book_.forget(reader);
    }
    PACELINE_ASSERT(entries == before.entries && bytes == before.stored_bytes);
    PACELINE_ASSERT(book_.counts() == before);
  }

  fuzz::FuzzInput input_;
  StoreBook book_{live_value, kLimits};
  std::list<Ledger> clients_;
  std::set<std::string> keys_;
};

}  // namespace
}  // namespace paceline

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  paceline::Script(paceline::fuzz::FuzzInput(data, size)).run();
  return 0;
}
