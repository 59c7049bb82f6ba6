// The contract of comm/transport.h where somebody leaves, is lost, or gives up.

#include "tests/conformance/transport_rig.h"

namespace paceline::testing {
namespace {

using TransportFailures = TransportContract;

TEST_P(TransportFailures, ALostPeerEndsItsRequestsAndNoOthers) {
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
TEST_P(TransportFailures, WhatALeaverSentArrives) {
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

// The peer was busy elsewhere when all of it was sent, and says something before it reads: what it
// says must not turn the leaver's end into a reset that takes the rest along.
TEST_P(TransportFailures, WhatALeaverSentBeforeItsGoodbyeArrives) {
  run(2, [&](RankEnd& end) -> Status {
    // Computes: nothing is sent or received meanwhile. (Nothing happens in simulated time either.)
    const auto stay_away = [](std::chrono::milliseconds time) {
      const SystemClock clock;
      const Deadline back = Deadline::after(clock, time);
      while (GetParam().mode != Mode::kSimulation && !back.passed(clock.now())) continue;
    };
    Requests requests;
    const Bytes payload = pattern(300'000, 0, 1, 0), words = pattern(100, 0, 1, 1);
    PACELINE_TRY(meet(end));
    if (end.rank() == 0) {
      send(end, 1, 0, payload, requests.make());
      PACELINE_TRY(wait_all(end, requests));
      {
        const Engine::Baton baton = end.engine.hold();
        end.transport.tell(1, MessageKind::kGoodbye, words);
        end.transport.abort(Status(Code::kCancelled, Scope::kGroup, "enough"));
      }
      return end.wait([&] { return end.transport.flushed(); });
    }
    stay_away(std::chrono::milliseconds(100));
    {
      const Engine::Baton baton = end.engine.hold();
      end.transport.tell(0, MessageKind::kAnswer, words);
    }
    stay_away(std::chrono::milliseconds(20));
    Bytes buffer(payload.size());
    receive(end, 0, buffer, requests.make());
    PACELINE_TRY(wait_all(end, requests));
    PACELINE_TRY(requests.expect(Code::kOk));
    return buffer == payload ? Status() : violated("it came wrong");
  });
}

// The sender gives up in the middle of a long message that the other side may not be reading: its
// last word comes all the same, and so does the message if it had begun to leave.
TEST_P(TransportFailures, ANoticeComesAlthoughTheSenderAbortsInAMessage) {
  run(2, [&](RankEnd& end) -> Status {
    Requests requests;
    const Bytes payload = pattern(32'000'000, 0, 1, 0), last_word = pattern(100, 0, 1, 1);
    Controls controls;
    {
      const Engine::Baton baton = end.engine.hold();
      end.transport.set_sink(&controls);
    }
    PACELINE_TRY(meet(end));
    if (end.rank() == 0) {
      send(end, 1, 1, payload, requests.make());
      {
        const Engine::Baton baton = end.engine.hold();
        end.transport.tell(1, MessageKind::kNotice, last_word);
        end.transport.abort(Status(Code::kCancelled, Scope::kGroup, "enough"));
      }
      if (!requests.all_ended()) return violated("abort() left a request");
      PACELINE_TRY(end.wait([&] { return end.transport.flushed(); }));
    } else {
      PACELINE_TRY(end.wait([&] { return controls.has_waiting(1); }));
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
TEST_P(TransportFailures, AfterAbortControlMessagesGoBothWays) {
  run(2, [&](RankEnd& end) -> Status {
    const int peer = 1 - end.rank();
    Requests requests;
    const Bytes payload = pattern(32'000'000, end.rank(), peer, 0);
    Controls controls;
    {
      const Engine::Baton baton = end.engine.hold();
      end.transport.set_sink(&controls);
    }
    PACELINE_TRY(meet(end));
    send(end, peer, 1, payload, requests.make());
    PACELINE_TRY(end.wait([&] { return controls.has_waiting(1); }));
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
TEST_P(TransportFailures, AfterAbortNothingIsTouched) {
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

INSTANTIATE_TEST_SUITE_P(Transports, TransportFailures, ::testing::ValuesIn(kTransports),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace paceline::testing
