#include <string>

#include <gtest/gtest.h>

#include "comm/base/random.h"
#include "comm/wire.h"

namespace paceline {
namespace {

const Status kError(Code::kMismatch, Scope::kGroup, "ranks called different operations",
                    {.rank = 7, .host = "node07", .operation = "barrier #3", .sequence = 3});

// The notice as its receiver reads it.
Status received(const Status& sent) {
  Status status;
  EXPECT_TRUE(decode_notice(encode_notice(sent), status).ok());
  return status;
}

TEST(Notice, ComesBackWithAllItsFields) {
  const Status status = received(kError);
  EXPECT_EQ(status.code(), kError.code());
  EXPECT_EQ(status.scope(), kError.scope());
  EXPECT_EQ(status.text(), kError.text());
  EXPECT_EQ(status.culprit(), kError.culprit());
}

TEST(Notice, EveryCodeAndScopeTravels) {
  for (int code = 1; code <= static_cast<int>(Code::kInternal); ++code) {
    for (int scope = 0; scope <= static_cast<int>(Scope::kProcess); ++scope) {
      const Status status =
          received(Status(static_cast<Code>(code), static_cast<Scope>(scope), "", {}));
      EXPECT_EQ(status.code(), static_cast<Code>(code));
      EXPECT_EQ(status.scope(), static_cast<Scope>(scope));
      EXPECT_EQ(status.culprit(), Culprit());
    }
  }
}

TEST(Notice, LongTextsAreCutSoThatItFits) {
  const std::string text(10'000, 'x');
  const Status sent(Code::kTimeout, Scope::kPeer, text,
                    {.rank = 1, .host = text, .operation = text, .sequence = 9});
  EXPECT_LE(encode_notice(sent).size(), kMaxControlBytes);
  const Status status = received(sent);
  EXPECT_GE(status.text().size(), 1000u);
  EXPECT_EQ(status.text(), text.substr(0, status.text().size()));
  EXPECT_EQ(status.culprit().sequence, 9) << "what follows the texts is not cut";
}

TEST(Notice, ASuccessIsNone) {
  Status status;
  EXPECT_FALSE(decode_notice(encode_notice(Status()), status).ok());
}

TEST(Notice, CutShortOrWithMoreBehindItIsRefused) {
  Bytes bytes = encode_notice(kError);
  Status status;
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_notice(ByteView(bytes).first(size), status).ok()) << size;
  }
  EXPECT_TRUE(status.ok()) << "what is refused is not written";
  bytes.push_back(std::byte{});
  EXPECT_FALSE(decode_notice(bytes, status).ok());
}

TEST(Notice, UnknownCodesAndScopesAreRefused) {
  for (const std::size_t offset : {0u, 1u}) {
    for (const int value : {11, 100, 255}) {
      Bytes bytes = encode_notice(kError);
      bytes[offset] = static_cast<std::byte>(value);
      Status status;
      EXPECT_FALSE(decode_notice(bytes, status).ok()) << offset << ": " << value;
    }
  }
}

// A few bytes changed: refused, or a failure whose texts are within bounds.
TEST(Notice, CorruptBytesAreRefusedOrHarmless) {
  for (std::uint64_t seed = 1; seed <= 20'000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Bytes bytes = encode_notice(kError);
    for (std::uint64_t changes = 1 + random.below(4); changes > 0; --changes) {
      bytes[random.below(bytes.size())] = static_cast<std::byte>(random.next());
    }
    Status status;
    if (!decode_notice(bytes, status).ok()) {
      ASSERT_TRUE(status.ok());
      continue;
    }
    ASSERT_FALSE(status.ok());
    ASSERT_LE(status.text().size() + status.culprit().host.size(), bytes.size());
    ASSERT_NE(name(status.code()), "unknown code");
  }
}

}  // namespace
}  // namespace paceline
