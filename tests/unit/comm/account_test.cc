#include "comm/account.h"

#include <gtest/gtest.h>

#include "comm/base/random.h"
#include "comm/wire.h"

namespace paceline {
namespace {

constexpr int kRanks = 5000;

Signature random_signature(Random& random) {
  return {.sequence = random.next(),
          .count = random.next(),
          .root = static_cast<std::int32_t>(random.next()),
          .kind = static_cast<OperationKind>(random.below(4)),
          .type = static_cast<DataType>(random.below(4)),
          .op = static_cast<ReduceOp>(random.below(3)),
          .plan = static_cast<std::uint32_t>(random.next()),
          .history = random.next()};
}

Account random_account(Random& random, std::size_t recent, std::size_t awaited) {
  Account account{.begun = random.next(),
                  .running = random.chance(0.5),
                  .waits_for_device = random.chance(0.5)};
  for (std::size_t i = 0; i < recent; ++i) account.recent.push_back(random_signature(random));
  for (std::size_t i = 0; i < awaited; ++i) {
    account.awaited.push_back(static_cast<std::int32_t>(random.below(kRanks)));
  }
  return account;
}

TEST(Account, ComesBackAsItWas) {
  Random random(1);
  for (int round = 0; round < 2'000; ++round) {
    const Account account = random_account(random, random.below(Account::kMaxRecent + 1),
                                           random.below(Account::kMaxAwaited + 1));
    const Result<Account> decoded = decode_account(encode_account(account), kRanks);
    ASSERT_TRUE(decoded.ok());
    ASSERT_EQ(*decoded, account);
  }
}

TEST(Account, TheNewestCallsAndTheFirstRanksAreKept) {
  Random random(2);
  const Account account = random_account(random, Account::kMaxRecent + 3, 1000);
  const Bytes bytes = encode_account(account);
  EXPECT_LE(bytes.size(), kMaxControlBytes);
  const Account decoded = decode_account(bytes, kRanks).value();
  ASSERT_EQ(decoded.recent.size(), Account::kMaxRecent);
  EXPECT_EQ(decoded.recent.back(), account.recent.back());
  ASSERT_EQ(decoded.awaited.size(), Account::kMaxAwaited);
  EXPECT_EQ(decoded.awaited.front(), account.awaited.front());
}

TEST(Account, RanksThatAreNotInTheGroupAreRefused) {
  for (const int rank : {-1, kRanks, INT32_MAX, INT32_MIN}) {
    const Bytes bytes = encode_account({.begun = 1, .running = true, .awaited = {0, rank}});
    EXPECT_FALSE(decode_account(bytes, kRanks).ok()) << rank;
  }
}

TEST(Account, CutShortOrWithMoreBehindItIsRefused) {
  Random random(3);
  Bytes bytes = encode_account(random_account(random, 3, 2));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    ASSERT_FALSE(decode_account(ByteView(bytes).first(size), kRanks).ok()) << size;
  }
  bytes.push_back(std::byte{});
  EXPECT_FALSE(decode_account(bytes, kRanks).ok());
}

// Every byte set to every value: refused, or an account that encodes to these bytes.
TEST(Account, ACorruptByteIsRefusedOrMeansWhatItSays) {
  Random random(4);
  const Bytes valid = encode_account(random_account(random, 2, 2));
  for (std::size_t offset = 0; offset < valid.size(); ++offset) {
    for (int value = 0; value < 256; ++value) {
      Bytes bytes = valid;
      bytes[offset] = static_cast<std::byte>(value);
      const Result<Account> decoded = decode_account(bytes, kRanks);
      if (!decoded.ok()) continue;
      ASSERT_EQ(encode_account(*decoded), bytes) << "byte " << offset;
    }
  }
}

}  // namespace
}  // namespace paceline
