// What the transports' contract tests share: the table of transports, requests that count their
// ends, and a fixture.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <numeric>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "comm/base/try.h"
#include "comm/bytes.h"
#include "tests/harness/ranks.h"

namespace paceline::testing {

struct TransportRow {
  std::string name;
  Mode mode;
  int schedules;

  friend void PrintTo(const TransportRow& row, std::ostream* out) { *out << row.name; }
};
inline const TransportRow kTransports[] = {
    {"inproc", Mode::kSimulation, 20},           {"tcp", Mode::kThreads, 1},
    {"tcp_sealed", Mode::kSealedThreads, 1},     {"shm", Mode::kSharedMemoryThreads, 1},
    {"shm_processes", Mode::kSharedMemory, 1},   {"composite", Mode::kCompositeThreads, 1},
    {"composite_processes", Mode::kComposite, 1}};

inline Status violated(const std::string& what) {
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
inline Bytes pattern(std::size_t size, int from, int to, std::size_t message) {
  constexpr std::size_t kStride = 1009;
  const std::size_t seed = message * 13 + static_cast<std::size_t>(from * 3 + to);
  Bytes bytes(size, static_cast<std::byte>(seed));
  for (std::size_t i = 0; i < size; i += kStride) bytes[i] = static_cast<std::byte>(i * 7 + seed);
  return bytes;
}

inline Signature numbered(std::size_t message) { return {.sequence = message}; }

inline void send(const RankEnd& end, int to, std::size_t message, const Bytes& payload,
                 Request& request) {
  const Engine::Baton baton = end.engine.hold();
  end.transport.send(to, numbered(message), payload, request);
}

inline void receive(const RankEnd& end, int from, Bytes& buffer, Request& request) {
  const Engine::Baton baton = end.engine.hold();
  end.transport.receive(from, buffer, request);
}

inline Status wait_all(const RankEnd& end, const Requests& requests) {
  return end.wait([&] { return requests.all_ended(); });
}

// Nobody's connection ends before the others have what they wait for.
inline Status meet(const RankEnd& end, const std::vector<int>& peers) {
  Requests requests;
  Bytes nothing;
  for (const int peer : peers) {
    send(end, peer, 0, nothing, requests.make());
    receive(end, peer, nothing, requests.make());
  }
  PACELINE_TRY(wait_all(end, requests));
  return requests.expect(Code::kOk);
}

inline Status meet(const RankEnd& end) {
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
  bool has_waiting(std::uint64_t sequence) const {
    return std::find(waiting.begin(), waiting.end(), sequence) != waiting.end();
  }
  std::vector<Told> all;
  std::vector<std::uint64_t> waiting;  // sequences of messages without a receive
};

}  // namespace paceline::testing
