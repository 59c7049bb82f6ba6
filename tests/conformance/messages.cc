// Several messages of a pair at once. Sends match receives in the order of the calls, even if a
// later message ends first.

#include <array>
#include <cstddef>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include <paceline/buffer.h>

#include "tests/harness/message_trial.h"
#include "tests/harness/ranks.h"

namespace paceline::testing {
namespace {

constexpr auto kBytes = DataType::kUInt8;

class ConcurrentMessages : public ::testing::TestWithParam<std::tuple<Mode, int>> {
 protected:
  Mode mode() const { return std::get<0>(GetParam()); }
  int ranks() const { return std::get<1>(GetParam()); }
};

TEST_P(ConcurrentMessages, MeetInTheOrderOfTheirCalls) {
  for (const std::uint64_t seed : seeds(4)) {
    const Status status =
        run_ranks({.mode = mode(), .ranks = ranks(), .seed = seed}, [&](Communicator& world) {
          const Status tried = run_message_trial(
              {.rank = world.rank(), .ranks = world.size(), .seed = seed, .exchanges = 12},
              [&](std::span<const Message> messages) { return world.exchange(messages); });
          return tried.ok() ? world.close() : tried;
        });
    ASSERT_TRUE(status.ok()) << status.to_string();
  }
}

std::string name_of(const ::testing::TestParamInfo<std::tuple<Mode, int>>& info) {
  return name(std::get<0>(info.param)) + "_" + std::to_string(std::get<1>(info.param)) + "_ranks";
}

INSTANTIATE_TEST_SUITE_P(InEveryWorld, ConcurrentMessages,
                         ::testing::Combine(::testing::ValuesIn(kModes),
                                            ::testing::Values(1, 2, 3)),
                         name_of);

// The data of a long message in a buffer stays there until its receiver has copied it.
TEST(ConcurrentMessagesOfAPair, AShortOneMayEndBeforeALongOneInABuffer) {
  constexpr std::size_t kLong = 64 * 1024, kShort = 100;
  const auto body = [](Communicator& world) -> Status {
    const Buffer long_one = Buffer::allocate(kLong).value();
    std::array<std::byte, kShort> short_one{};
    const int peer = 1 - world.rank();
    std::vector<Message> messages = {Message::sent(long_one.data(), kLong, kBytes, peer),
                                     Message::sent(short_one.data(), kShort, kBytes, peer)};
    if (world.rank() == 1)
      messages = {Message::received(long_one.data(), kLong, kBytes, peer),
                  Message::received(short_one.data(), kShort, kBytes, peer)};
    const Status status = world.exchange(messages);
    return status.ok() ? world.close() : status;
  };
  const Status status = run_ranks({.mode = Mode::kSharedMemoryThreads, .ranks = 2}, body);
  EXPECT_TRUE(status.ok()) << status.to_string();
}

}  // namespace
}  // namespace paceline::testing
