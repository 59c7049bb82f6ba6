#include "tests/harness/message_trial.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include <paceline/buffer.h>

#include "comm/base/random.h"
#include "comm/base/try.h"
#include "comm/transport/shm_loans.h"
#include "comm/transport/split_copy.h"

namespace paceline::testing {
namespace {

constexpr std::size_t kLoan = ShmLoans::kLeastBytes;
constexpr std::size_t kSplit = SplitCopy::kLeastBytes;
// Includes lengths around each limit at which the transport changes its method.
constexpr std::size_t kLongest = 300'007;
constexpr std::size_t kLengths[] = {0,     1,         7,          100,    4099,       kLoan - 1,
                                    kLoan, kLoan + 1, kSplit - 1, kSplit, kSplit + 1, kLongest};
constexpr std::uint64_t kMostOfAPair = 5;
constexpr std::uint64_t kGaps = 3;

// The max number of bytes that one rank sends or receives.
std::size_t most_bytes(int ranks) {
  return static_cast<std::size_t>(ranks) * kMostOfAPair * (kLongest + kGaps);
}

struct Drawn {
  int from;
  int to;
  std::size_t bytes;
  bool is_sent_from_buffer;
  bool is_received_in_buffer;
  std::size_t gap;  // bytes before it, so that addresses have any alignment
  std::uint8_t first;
};

// Draws all messages of an exchange, equal on every rank. Messages of a pair are in their order.
std::vector<Drawn> draw(Random& random, int ranks) {
  std::vector<Drawn> drawn;
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) {
      for (std::uint64_t left = random.below(kMostOfAPair + 1); left > 0; --left) {
        drawn.push_back({.from = from,
                         .to = to,
                         .bytes = kLengths[random.below(std::size(kLengths))],
                         .is_sent_from_buffer = random.chance(0.5),
                         .is_received_in_buffer = random.chance(0.5),
                         .gap = random.below(kGaps),
                         .first = static_cast<std::uint8_t>(random.next())});
      }
    }
  }
  return drawn;
}

std::byte expected(const Drawn& drawn, std::size_t at) {
  return static_cast<std::byte>(drawn.first + at * 31 + (at >> 8));
}

// Hands out places one after the other, in a buffer or in ordinary memory.
class Places {
 public:
  explicit Places(std::size_t bytes) : ordinary_(bytes) {
    if (auto buffer = Buffer::allocate(bytes); buffer.ok()) buffer_ = *std::move(buffer);
    if (buffer_.size() == 0) instead_.resize(bytes);
  }
  void clear() { taken_ = {}; }
  std::byte* take(const Drawn& drawn, bool in_buffer) {
    std::byte* const of_buffer = buffer_.size() > 0 ? buffer_.data() : instead_.data();
    std::size_t& taken = taken_[in_buffer ? 1 : 0];
    std::byte* const place = (in_buffer ? of_buffer : ordinary_.data()) + taken + drawn.gap;
    taken += drawn.gap + drawn.bytes;
    return place;
  }

 private:
  std::vector<std::byte> ordinary_;
  Buffer buffer_;
  std::vector<std::byte> instead_;  // replaces the buffer if the process cannot make one
  std::array<std::size_t, 2> taken_{};
};

struct Received {
  Drawn drawn;
  const std::byte* place;
};

class Trial {
 public:
  explicit Trial(const MessageTrial& trial)
      : trial_(trial),
        random_(trial.seed),
        sent_places_(most_bytes(trial.ranks)),
        received_places_(most_bytes(trial.ranks)) {}

  Status run_one(const Exchange& exchange) {
    place_all();
    PACELINE_TRY(exchange(messages_));
    for (const Received& received : received_) PACELINE_TRY(judge(received));
    return {};
  }

 private:
  void place_all() {
    sent_places_.clear();
    received_places_.clear();
    received_.clear();
    sends_.clear();
    receives_.clear();
    for (const Drawn& drawn : draw(random_, trial_.ranks)) {
      if (drawn.from == trial_.rank) place_sent(drawn);
      if (drawn.to == trial_.rank) place_received(drawn);
    }
    merge(random_.fork());
  }
  void place_sent(const Drawn& drawn) {
    std::byte* const place = sent_places_.take(drawn, drawn.is_sent_from_buffer);
    for (std::size_t i = 0; i < drawn.bytes; ++i) place[i] = expected(drawn, i);
    sends_.push_back(Message::sent(place, drawn.bytes, DataType::kUInt8, drawn.to));
  }
  void place_received(const Drawn& drawn) {
    std::byte* const place = received_places_.take(drawn, drawn.is_received_in_buffer);
    std::fill_n(place, drawn.bytes, std::byte{});
    received_.push_back({drawn, place});
    receives_.push_back(Message::received(place, drawn.bytes, DataType::kUInt8, drawn.from));
  }
  // Merges sends and receives in random order. Messages of a pair and direction keep theirs.
  void merge(Random order) {
    messages_.clear();
    auto sent = sends_.begin();
    auto received = receives_.begin();
    while (sent != sends_.end() || received != receives_.end()) {
      const bool sends = received == receives_.end() || (sent != sends_.end() && order.chance(0.5));
      messages_.push_back(sends ? *sent++ : *received++);
    }
  }
  Status judge(const Received& received) const {
    for (std::size_t i = 0; i < received.drawn.bytes; ++i) {
      if (received.place[i] == expected(received.drawn, i)) continue;
      return Status(Code::kInternal, Scope::kOperation,
                    "byte " + std::to_string(i) + " of " + std::to_string(received.drawn.bytes) +
                        " from rank " + std::to_string(received.drawn.from) + " is wrong");
    }
    return {};
  }

  const MessageTrial trial_;
  Random random_;
  Places sent_places_, received_places_;
  std::vector<Message> sends_, receives_, messages_;
  std::vector<Received> received_;
};

}  // namespace

Status run_message_trial(const MessageTrial& trial, const Exchange& exchange) {
  Trial running(trial);
  for (int i = 0; i < trial.exchanges; ++i) {
    const Status status = running.run_one(exchange);
    if (!status.ok())
      return status.with_context("PACELINE_SEED=" + std::to_string(trial.seed) + ", exchange " +
                                 std::to_string(i));
  }
  return {};
}

Exchange exchange_in_c(plComm_t comm) {
  return [comm](std::span<const Message> messages) -> Status {
    (void)plGroupStart();
    for (const Message& message : messages) {
      if (message.is_sent)
        (void)plSend(message.in, message.count, plUint8, message.peer, comm, nullptr);
      if (!message.is_sent)
        (void)plRecv(message.out, message.count, plUint8, message.peer, comm, nullptr);
    }
    if (plGroupEnd() == plSuccess) return {};
    return Status(Code::kInternal, Scope::kOperation, plGetLastError(comm));
  };
}

}  // namespace paceline::testing
