// The contract of comm/transport.h, held against every transport: the simulated network (as a
// simulation) and TCP (as threads). A new transport is a row in kTransports.

#include <algorithm>
#include <deque>
#include <numeric>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "comm/base/try.h"
#include "comm/bytes.h"
#include "tests/harness/ranks.h"

namespace paceline::testing {
namespace {

struct TransportRow {
  std::string name;
  Mode mode;
  int schedules;

  friend void PrintTo(const TransportRow& row, std::ostream* out) { *out << row.name; }
};
const TransportRow kTransports[] = {{"inproc", Mode::kSimulation, 20}, {"tcp", Mode::kThreads, 1}};

Status violated(const std::string& what) {
  return Status(Code::kInternal, Scope::kOperation, what);
}

// Requests, and how many times each has ended.
class Requests final : public RequestListener {
 public:
  Request& make() {
    ends_.push_back(0);
    return requests_.emplace_back(
        Request{.listener = this, .tag = static_cast<std::uint32_t>(requests_.size())});
  }
  void ended(Request& request) override { ++ends_[request.tag]; }

  const Request& operator[](std::size_t index) const { return requests_[index]; }
  bool all_ended() const {
    return std::all_of(ends_.begin(), ends_.end(), [](int ends) { return ends >= 1; });
  }
  /// All ended exactly once, with `code`.
  Status expect(Code code) const {
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      if (ends_[i] != 1) return violated("a request ended " + std::to_string(ends_[i]) + " times");
      if (requests_[i].status.code() != code) {
        return violated("request " + std::to_string(i) + ": " + requests_[i].status.to_string());
      }
    }
    return {};
  }

 private:
  std::deque<Request> requests_;  // addresses stay
  std::vector<int> ends_;
};

// Differs between pairs, messages and places; quick to make, also under a sanitizer.
Bytes pattern(std::size_t size, int from, int to, std::size_t message) {
  constexpr std::size_t kStride = 1009;
  const std::size_t seed = message * 13 + static_cast<std::size_t>(from * 3 + to);
  Bytes bytes(size, static_cast<std::byte>(seed));
  for (std::size_t i = 0; i < size; i += kStride) bytes[i] = static_cast<std::byte>(i * 7 + seed);
  return bytes;
}

Signature numbered(std::size_t message) { return {.sequence = message}; }

void send(const RankEnd& end, int to, std::size_t message, const Bytes& payload, Request& request) {
  const Engine::Baton baton = end.engine.hold();
  end.transport.send(to, numbered(message), payload, request);
}

void receive(const RankEnd& end, int from, Bytes& buffer, Request& request) {
  const Engine::Baton baton = end.engine.hold();
  end.transport.receive(from, buffer, request);
}

Status wait_all(const RankEnd& end, const Requests& requests) {
  return end.wait([&] { return requests.all_ended(); });
}

// Nobody's connection ends before the others have what they wait for.
Status meet(const RankEnd& end, const std::vector<int>& peers) {
  Requests requests;
  Bytes nothing;
  for (const int peer : peers) {
    send(end, peer, 0, nothing, requests.make());
    receive(end, peer, nothing, requests.make());
  }
  PACELINE_TRY(wait_all(end, requests));
  return requests.expect(Code::kOk);
}

Status meet(const RankEnd& end) {
  std::vector<int> peers(static_cast<std::size_t>(end.size()));
  std::iota(peers.begin(), peers.end(), 0);
  std::erase(peers, end.rank());
  return meet(end, peers);
}

class TransportContract : public ::testing::TestWithParam<TransportRow> {
 protected:
  void run(int ranks, const std::function<Status(RankEnd&)>& body) {
    for (const std::uint64_t seed : seeds(GetParam().schedules)) {
      const Status status =
          run_transports({.mode = GetParam().mode, .ranks = ranks, .seed = seed}, body);
      ASSERT_TRUE(status.ok()) << status.to_string();
    }
  }
};

// Every pair, both directions at once, sizes from nothing to more than a socket buffers.
TEST_P(TransportContract, MessagesOfAPairArriveInOrderAndWhole) {
  const std::vector<std::size_t> sizes = {0, 1, 13, 4096, 65537, 0, 3, 300'001, 8};
  run(4, [&](RankEnd& end) -> Status {
    std::deque<Bytes> sent, received;
    Requests requests;
    for (std::size_t message = 0; message < sizes.size(); ++message) {
      for (int peer = 0; peer < end.size(); ++peer) {
        if (peer == end.rank()) continue;
        receive(end, peer, received.emplace_back(sizes[message]), requests.make());
        sent.push_back(pattern(sizes[message], end.rank(), peer, message));
        send(end, peer, message, sent.back(), requests.make());
      }
    }
    PACELINE_TRY(wait_all(end, requests));
    PACELINE_TRY(requests.expect(Code::kOk));
    std::size_t index = 0;
    for (std::size_t message = 0; message < sizes.size(); ++message) {
      for (int peer = 0; peer < end.size(); ++peer) {
        if (peer == end.rank()) continue;
        if (received[index] != pattern(sizes[message], peer, end.rank(), message)) {
          return violated("message " + std::to_string(message) + " came wrong");
        }
        if (requests[2 * index].signature != numbered(message)) {
          return violated("message " + std::to_string(message) + " came with another's signature");
        }
        ++index;
      }
    }
    return meet(end);
  });
}

// Messages wait for their receives, within the backlog and beyond it.
TEST_P(TransportContract, MessagesThatComeEarlyWait) {
  constexpr std::size_t kMessages = 40;
  constexpr std::size_t kSize = 200'000;
  run(2, [&](RankEnd& end) -> Status {
    Requests requests;
    std::deque<Bytes> payloads;
    const int peer = 1 - end.rank();
    for (std::size_t i = 0; end.rank() == 0 && i < kMessages; ++i) {
      payloads.push_back(pattern(i % 3 == 0 ? 5 : kSize, 0, 1, i));
      send(end, peer, i, payloads.back(), requests.make());
    }
    // The receiver does not look for a while.
    if (end.rank() == 1) (void)end.wait([] { return false; }, std::chrono::milliseconds(20));
    for (std::size_t i = 0; end.rank() == 1 && i < kMessages; ++i) {
      Requests one;
      Bytes buffer(i % 3 == 0 ? 5 : kSize);
      receive(end, peer, buffer, one.make());
      PACELINE_TRY(wait_all(end, one));
      PACELINE_TRY(one.expect(Code::kOk));
      if (buffer != pattern(buffer.size(), 0, 1, i)) return violated("an early message is wrong");
    }
    PACELINE_TRY(wait_all(end, requests));
    return meet(end);
  });
}

TEST_P(TransportContract, AMessageOfAnotherLengthIsAMismatchAndNothingIsWritten) {
  for (const std::size_t expected : {0u, 10u, 100'000u}) {
    for (const std::size_t came : {0u, 11u, 100'001u}) {
      if (expected == came) continue;
      run(2, [&](RankEnd& end) -> Status {
        Requests requests;
        const Bytes payload = pattern(came, 0, 1, 5);
        Bytes buffer(expected, std::byte{0xEE});
        if (end.rank() == 0) {
          send(end, 1, 5, payload, requests.make());
          PACELINE_TRY(wait_all(end, requests));
        } else {
          receive(end, 0, buffer, requests.make());
          PACELINE_TRY(wait_all(end, requests));
          PACELINE_TRY(requests.expect(Code::kMismatch));
          if (requests[0].signature != numbered(5)) return violated("the signature is missing");
          if (buffer != Bytes(expected, std::byte{0xEE})) return violated("it was written to");
        }
        return meet(end);  // what comes behind it is not harmed
      });
    }
  }
}

TEST_P(TransportContract, ALostPeerEndsItsRequestsAndNoOthers) {
  run(3, [&](RankEnd& end) -> Status {
    Bytes nothing, buffer(8);
    PACELINE_TRY(meet(end));
    if (end.rank() == 2) return {};  // leaves: its transport is destroyed
    const int other = 1 - end.rank();
    Requests lost, with_other;
    receive(end, 2, buffer, lost.make());
    receive(end, other, nothing, with_other.make());
    PACELINE_TRY(wait_all(end, lost));
    PACELINE_TRY(lost.expect(Code::kPeerLost));
    if (lost[0].status.culprit().rank != 2) return violated("the lost rank is not named");
    Requests later;
    send(end, 2, 1, buffer, later.make());
    receive(end, 2, buffer, later.make());
    PACELINE_TRY(wait_all(end, later));
    PACELINE_TRY(later.expect(Code::kPeerLost));
    send(end, other, 1, nothing, with_other.make());
    PACELINE_TRY(wait_all(end, with_other));
    PACELINE_TRY(with_other.expect(Code::kOk));
    return meet(end, {other});
  });
}

// What a peer sent before it left is still received.
TEST_P(TransportContract, WhatALeaverSentArrives) {
  run(2, [&](RankEnd& end) -> Status {
    Requests requests;
    const Bytes payload = pattern(1000, 0, 1, 0);
    if (end.rank() == 0) {
      send(end, 1, 0, payload, requests.make());
      return wait_all(end, requests);
    }
    (void)end.wait([] { return false; }, std::chrono::milliseconds(20));
    Bytes buffer(1000);
    receive(end, 0, buffer, requests.make());
    PACELINE_TRY(wait_all(end, requests));
    PACELINE_TRY(requests.expect(Code::kOk));
    return buffer == payload ? Status() : violated("it came wrong");
  });
}

class Controls final : public TransportSink {
 public:
  struct Told {
    int peer;
    MessageKind kind;
    Bytes payload;
    bool operator==(const Told&) const = default;
  };
  void told(int peer, MessageKind kind, ByteView payload) override {
    all.push_back({peer, kind, Bytes(payload.begin(), payload.end())});
  }
  void waits(int, const Signature& signature) override { waiting.push_back(signature.sequence); }
  std::vector<Told> all;
  std::vector<std::uint64_t> waiting;  // sequences of messages without a receive
};

TEST_P(TransportContract, ControlMessagesNeedNoReceiveAndKeepTheirOrder) {
  run(2, [&](RankEnd& end) -> Status {
    const std::vector<Controls::Told> told = {
        {0, MessageKind::kInquiry, pattern(kMaxControlBytes, 0, 1, 1)},
        {0, MessageKind::kAnswer, {}},
        {0, MessageKind::kNotice, pattern(17, 0, 1, 2)},
        {0, MessageKind::kGoodbye, pattern(100, 0, 1, 3)}};
    Controls controls;
    Requests requests;
    Bytes early(100), nothing;
    {
      const Engine::Baton baton = end.engine.hold();
      end.transport.set_sink(&controls);
    }
    if (end.rank() == 0) {
      send(end, 1, 0, early, requests.make());  // waits at the other side: no receive
      {
        const Engine::Baton baton = end.engine.hold();
        for (const auto& [peer, kind, payload] : told) end.transport.tell(1, kind, payload);
      }
      receive(end, 1, nothing, requests.make());
      PACELINE_TRY(wait_all(end, requests));
    } else {
      PACELINE_TRY(end.wait([&] { return controls.all.size() == told.size(); }));
      if (controls.all != told) return violated("something else came than was told");
      if (controls.waiting != std::vector<std::uint64_t>{0})
        return violated("who waits is not told");
      receive(end, 0, early, requests.make());
      send(end, 0, 0, nothing, requests.make());
      PACELINE_TRY(wait_all(end, requests));
    }
    const Engine::Baton baton = end.engine.hold();
    end.transport.set_sink(nullptr);
    return requests.expect(Code::kOk);
  });
}

// The sender gives up in the middle of a long message that the other side may not be reading: its
// last word comes all the same, and so does the message if it had begun to leave.
TEST_P(TransportContract, ANoticeComesAlthoughTheSenderAbortsInAMessage) {
  run(2, [&](RankEnd& end) -> Status {
    Requests requests;
    const Bytes payload = pattern(32'000'000, 0, 1, 0), last_word = pattern(100, 0, 1, 1);
    Controls controls;
    {
      const Engine::Baton baton = end.engine.hold();
      end.transport.set_sink(&controls);
    }
    if (end.rank() == 0) {
      send(end, 1, 0, payload, requests.make());
      (void)end.wait([] { return false; }, std::chrono::milliseconds(20));
      {
        const Engine::Baton baton = end.engine.hold();
        end.transport.tell(1, MessageKind::kNotice, last_word);
        end.transport.abort(Status(Code::kCancelled, Scope::kGroup, "enough"));
      }
      if (!requests.all_ended()) return violated("abort() left a request");
      PACELINE_TRY(end.wait([&] { return end.transport.flushed(); }));
    } else {
      (void)end.wait([&] { return !controls.waiting.empty(); });
      Bytes buffer(payload.size());
      receive(end, 0, buffer, requests.make());
      PACELINE_TRY(wait_all(end, requests));
      PACELINE_TRY(requests.expect(Code::kOk));
      if (buffer != payload) return violated("the message came in part");
      PACELINE_TRY(end.wait([&] { return !controls.all.empty(); }));
      if (controls.all[0].payload != last_word) return violated("it was told something else");
    }
    const Engine::Baton baton = end.engine.hold();
    end.transport.set_sink(nullptr);
    return {};
  });
}

// Both have given up, with full sockets: what is still on its way stands in nobody's way.
TEST_P(TransportContract, AfterAbortControlMessagesGoBothWays) {
  run(2, [&](RankEnd& end) -> Status {
    const int peer = 1 - end.rank();
    Requests requests;
    const Bytes payload = pattern(32'000'000, end.rank(), peer, 0);
    Controls controls;
    {
      const Engine::Baton baton = end.engine.hold();
      end.transport.set_sink(&controls);
    }
    send(end, peer, 0, payload, requests.make());
    (void)end.wait([&] { return !controls.waiting.empty(); });
    {
      const Engine::Baton baton = end.engine.hold();
      end.transport.abort(Status(Code::kCancelled, Scope::kGroup, "enough"));
      end.transport.tell(peer, MessageKind::kNotice, ByteView(payload).first(100));
    }
    PACELINE_TRY(end.wait([&] { return !controls.all.empty() && end.transport.flushed(); }));
    const Engine::Baton baton = end.engine.hold();
    end.transport.set_sink(nullptr);
    return {};
  });
}

// The abort falls somewhere into a long message; wherever it does, that was the end of it.
TEST_P(TransportContract, AfterAbortNothingIsTouched) {
  run(2, [&](RankEnd& end) -> Status {
    const int peer = 1 - end.rank();
    Requests requests, begin;
    const Bytes payload = pattern(1'000'000, end.rank(), peer, 0);
    Bytes buffer(payload.size(), std::byte{0xEE}), nothing;
    if (end.rank() == 0) {
      receive(end, peer, nothing, begin.make());
      PACELINE_TRY(wait_all(end, begin));
      send(end, peer, 0, payload, requests.make());
      return wait_all(end, requests);  // well or not
    }
    receive(end, peer, buffer, requests.make());
    send(end, peer, 0, nothing, begin.make());
    (void)end.wait([&] { return buffer[0] != std::byte{0xEE}; }, std::chrono::milliseconds(20));
    {
      const Engine::Baton baton = end.engine.hold();
      end.transport.abort(Status(Code::kCancelled, Scope::kGroup, "enough"));
    }
    if (!requests.all_ended()) return violated("abort() left a request");
    const bool came = requests[0].status.ok();
    PACELINE_TRY(requests.expect(came ? Code::kOk : Code::kCancelled));
    const Bytes as_it_was = buffer;
    (void)end.wait([] { return false; }, std::chrono::milliseconds(20));
    return buffer == as_it_was ? Status() : violated("a buffer was written after abort()");
  });
}

INSTANTIATE_TEST_SUITE_P(Transports, TransportContract, ::testing::ValuesIn(kTransports),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace paceline::testing
