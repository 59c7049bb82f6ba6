// Messages between two ranks: that they come as they were sent, in an order, and what is said of
// those that nobody sent or nobody received.

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/harness/ranks.h"

namespace paceline::testing {
namespace {

using std::chrono::milliseconds;

using Numbers = std::vector<std::int32_t>;
using Body = std::function<Status(Communicator&)>;

constexpr auto kInt32 = DataType::kInt32;

Numbers numbers(std::size_t count, std::int32_t first) {
  Numbers made(count);
  std::iota(made.begin(), made.end(), first);
  return made;
}

Status expect_refused(const Status& status) {
  return status.code() == Code::kInvalidArgument ? Status()
                                                 : wrong("not refused: " + status.to_string());
}

// An error about what ranks called, with that text in it.
Status expect_mismatch(const Status& status, const std::string& text) {
  const bool is_it = status.code() == Code::kMismatch &&
                     std::string(status.text()).find(text) != std::string::npos;
  return is_it ? Status() : wrong("not \"" + text + "\": " + status.to_string());
}

class Messages : public ::testing::TestWithParam<Mode> {
 protected:
  void run(int ranks, const Body& body) {
    const Status status = run_ranks({.mode = GetParam(), .ranks = ranks}, body);
    EXPECT_TRUE(status.ok()) << status.to_string();
  }
};

// What one sends to each other, all at once, is more than connections hold.
TEST_P(Messages, LargeOnesCrossInAnExchange) {
  run(3, [](Communicator& world) -> Status {
    constexpr std::size_t kCount = 3 << 20;
    const int next = (world.rank() + 1) % 3, before = (world.rank() + 2) % 3;
    const Numbers sent = numbers(kCount, world.rank());
    Numbers received(kCount);
    const std::array messages = {Message::sent(sent.data(), kCount, kInt32, next),
                                 Message::received(received.data(), kCount, kInt32, before)};
    if (Status status = world.exchange(messages); !status.ok()) return status;
    if (received != numbers(kCount, before)) return wrong("other numbers came");
    return world.close();
  });
}

TEST_P(Messages, ThoseOfAPairMeetInTheirOrder) {
  run(3, [](Communicator& world) -> Status {
    constexpr std::size_t kMessages = 40;
    Numbers buffer = numbers(kMessages, 100);
    for (std::size_t i = 0; i < kMessages && world.rank() < 2; ++i) {
      const Status status = world.rank() == 0
                                ? world.send(&buffer[i], 1, kInt32, 1)
                                : world.receive(&buffer[kMessages - 1 - i], 1, kInt32, 0);
      if (!status.ok()) return status;
    }
    if (world.rank() == 1 && (buffer.front() != 139 || buffer.back() != 100))
      return wrong("they came in another order");
    return world.close();
  });
}

TEST_P(Messages, StandBetweenTheOperationsOfAll) {
  run(4, [](Communicator& world) -> Status {
    std::int32_t value = world.rank() == 0 ? 7 : 0;
    for (int round = 0; round < 3; ++round) {
      std::vector<Work> works;
      if (world.rank() > 0)
        works.push_back(world.receive_async(&value, 1, kInt32, world.rank() - 1));
      if (world.rank() < 3) works.push_back(world.send_async(&value, 1, kInt32, world.rank() + 1));
      Numbers sum = {1};
      if (Status status = world.all_reduce(std::span(sum)); !status.ok()) return status;
      if (sum[0] != 4 || value != 7) return wrong("round " + std::to_string(round));
      for (const Work& work : works) {
        if (!work.test()) return wrong("what was called before has not ended");
      }
    }
    return world.close();
  });
}

TEST_P(Messages, OneMaySendToItselfInAnExchange) {
  for (const int ranks : {1, 2}) {
    run(ranks, [](Communicator& world) -> Status {
      const Numbers sent = numbers(10, 5);
      Numbers first(4), second(6);
      const int self = world.rank();
      const std::array messages = {Message::received(first.data(), 4, kInt32, self),
                                   Message::sent(sent.data(), 4, kInt32, self),
                                   Message::sent(sent.data() + 4, 6, kInt32, self),
                                   Message::received(second.data(), 6, kInt32, self)};
      if (Status status = world.exchange(messages); !status.ok()) return status;
      first.insert(first.end(), second.begin(), second.end());
      if (first != sent) return wrong("other numbers came");
      if (Status status = expect_refused(world.send(sent.data(), 1, kInt32, self)); !status.ok())
        return status;
      return world.close();
    });
  }
}

TEST_P(Messages, WhatCannotBeIsRefused) {
  run(2, [](Communicator& world) -> Status {
    Numbers buffer(8);
    std::int32_t* const at = buffer.data();
    const int peer = 1 - world.rank();
    const std::vector<std::vector<Message>> lists = {
        {Message::sent(at, 1, kInt32, 2)},
        {Message::sent(at, 1, kInt32, -1)},
        {Message::received(nullptr, 1, kInt32, peer)},
        {Message::sent(at, SIZE_MAX / 4, kInt32, peer)},
        {Message::sent(at, 1, static_cast<DataType>(99), peer)},
        {Message::sent(at, 4, kInt32, peer), Message::received(at + 3, 4, kInt32, peer)},
        {Message::received(at, 4, kInt32, peer), Message::received(at + 3, 1, kInt32, peer)},
        {Message::sent(at, 1, kInt32, world.rank())},
        {Message::sent(at, 1, kInt32, world.rank()),
         Message::received(at + 1, 2, kInt32, world.rank())}};
    for (const std::vector<Message>& messages : lists) {
      if (Status status = expect_refused(world.exchange(messages)); !status.ok()) return status;
    }
    // Nothing of it was sent; the same may be sent twice, and nothing at all.
    const std::array twice = {
        Message::sent(at, 4, kInt32, peer), Message::sent(at, 4, kInt32, peer),
        Message::received(at + 4, 4, kInt32, peer), Message::received(nullptr, 0, kInt32, peer),
        Message::sent(nullptr, 0, kInt32, peer)};
    Status status = world.exchange(twice);
    // The second that comes is longer than nothing.
    if (Status other = expect_mismatch(status, "count 4 against 0"); !other.ok()) return other;
    return {};
  });
}

TEST_P(Messages, AnExchangeOfNothingEndsAtOnce) {
  run(2, [](Communicator& world) -> Status {
    for (int i = 0; world.rank() == 0 && i < 3; ++i) {
      if (Status status = world.exchange({}); !status.ok()) return status;
    }
    return world.close();
  });
}

// A disagreement of two ranks, of which all learn by their next call or by close().
void run_wrong(Mode mode, int ranks, const std::string& text, const Body& body) {
  const auto all = [&](Communicator& world) -> Status {
    Status status = body(world);
    if (status.ok()) status = world.barrier();
    if (status.ok()) status = world.close();
    return expect_mismatch(status, text);
  };
  const Status status = run_ranks({.mode = mode, .ranks = ranks}, all);
  EXPECT_TRUE(status.ok()) << status.to_string();
}

TEST_P(Messages, ThatDifferAreNamed) {
  run_wrong(GetParam(), 3, "send(3 x int32 to 1) before #0 where rank 1", [](Communicator& world) {
    Numbers buffer(4);
    if (world.rank() == 0) return world.send(buffer.data(), 3, kInt32, 1);
    if (world.rank() == 1) return world.receive(buffer.data(), 4, kInt32, 0);
    return Status();
  });
  run_wrong(GetParam(), 2, "type int32 against float32", [](Communicator& world) {
    Numbers buffer(4);
    if (world.rank() == 0) return world.send(buffer.data(), 4, kInt32, 1);
    return world.receive(buffer.data(), 4, DataType::kFloat32, 0);
  });
}

TEST_P(Messages, ThatNobodyReceivesAreNamed) {
  const auto last_sends = [](Communicator& world) {
    Numbers buffer(4);
    if (world.rank() != world.size() - 1) return Status();
    return world.send(buffer.data(), 4, kInt32, world.size() - 2);
  };
  run_wrong(GetParam(), 5, "rank 4", last_sends);
}

// Where it closes at once, and hears nothing from the sender on the way.
TEST_P(Messages, ThatNobodyReceivesKeepCloseFromSucceeding) {
  for (const int ranks : {2, 5, 8}) {
    run(ranks, [&](Communicator& world) {
      Numbers buffer(4);
      Status status = world.barrier();
      if (status.ok() && world.rank() == 0)
        status = world.send(buffer.data(), 4, kInt32, ranks / 2);
      if (status.ok()) status = world.close();
      return expect_mismatch(status, "rank 0 on");
    });
  }
}

// The second of two alike, of which one is received.
TEST_P(Messages, OneTooManyIsNamed) {
  run_wrong(GetParam(), 3, "send(4 x int32 to 1) before #0", [](Communicator& world) -> Status {
    Numbers buffer(4);
    if (world.rank() == 1) return world.receive(buffer.data(), 4, kInt32, 0);
    if (world.rank() == 2) return {};
    const Status first = world.send(buffer.data(), 4, kInt32, 1);
    return first.ok() ? world.send(buffer.data(), 4, kInt32, 1) : first;
  });
}

TEST_P(Messages, ThatNobodySendsAreNamed) {
  run_wrong(GetParam(), 3, "where rank 1 on", [](Communicator& world) {
    Numbers buffer(4);
    return world.rank() == 1 ? world.receive(buffer.data(), 4, kInt32, 2) : Status();
  });
}

TEST_P(Messages, OnTheOtherSideOfAnOperationAreNamed) {
  run_wrong(GetParam(), 3, "send(4 x int32 to 1) before #0", [](Communicator& world) -> Status {
    Numbers buffer(4);
    if (world.rank() == 0) {
      if (Status status = world.send(buffer.data(), 4, kInt32, 1); !status.ok()) return status;
    }
    if (Status status = world.barrier(); !status.ok()) return status;
    return world.rank() == 1 ? world.receive(buffer.data(), 4, kInt32, 0) : Status();
  });
}

// Who waits for a message in vain says for whom.
TEST_P(Messages, TheDeadlineNamesWhoDoesNotSend) {
  run(2, [](Communicator& world) -> Status {
    Numbers buffer(4);
    if (Status status = world.barrier(); !status.ok()) return status;
    if (Status status = world.set_timeout(milliseconds(400)); !status.ok()) return status;
    const Status status = world.receive(buffer.data(), 4, kInt32, 1 - world.rank());
    const bool is_timeout = status.code() == Code::kTimeout;
    return is_timeout ? Status() : wrong("ended otherwise: " + status.to_string());
  });
}

INSTANTIATE_TEST_SUITE_P(InEveryWorld, Messages,
                         ::testing::Values(Mode::kSimulation, Mode::kThreads,
                                           Mode::kSharedMemoryThreads, Mode::kDirectThreads,
                                           Mode::kGatheringThreads),
                         [](const auto& mode) { return name(mode.param); });

}  // namespace
}  // namespace paceline::testing
