// The contract of comm/transport.h, held against every transport: the simulated network (as a
// simulation), TCP (as threads) and shared memory (as threads and processes). A new transport is a
// row in kTransports.

#include "tests/conformance/transport_rig.h"

namespace paceline::testing {
namespace {

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

TEST_P(TransportContract, ManyControlMessagesAllCome) {
  run(2, [&](RankEnd& end) -> Status {
    constexpr std::size_t kMany = 1000;
    const int peer = 1 - end.rank();
    Controls controls;
    {
      const Engine::Baton baton = end.engine.hold();
      end.transport.set_sink(&controls);
      for (std::size_t i = 0; i < kMany; ++i) {
        end.transport.tell(peer, MessageKind::kAnswer, pattern(10, end.rank(), peer, i));
      }
    }
    PACELINE_TRY(end.wait([&] { return controls.all.size() == kMany && end.transport.flushed(); }));
    const Engine::Baton baton = end.engine.hold();
    end.transport.set_sink(nullptr);
    return controls.all.back().payload == pattern(10, peer, end.rank(), kMany - 1)
               ? Status()
               : violated("the last is not the last that was told");
  });
}

INSTANTIATE_TEST_SUITE_P(Transports, TransportContract, ::testing::ValuesIn(kTransports),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace paceline::testing
