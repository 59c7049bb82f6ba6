#include "comm/wire.h"

#include <iterator>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "comm/base/random.h"

namespace paceline {
namespace {

constexpr MessageKind kKinds[] = {MessageKind::kData, MessageKind::kNotice, MessageKind::kInquiry,
                                  MessageKind::kAnswer, MessageKind::kGoodbye};

std::uint64_t longest_payload(MessageKind kind) {
  return kind == MessageKind::kData ? kMaxPayloadBytes : kMaxControlBytes;
}

MessageHeader random_header(Random& random) {
  MessageHeader header;
  header.kind = kKinds[random.below(std::size(kKinds))];
  header.payload_bytes = random.below(longest_payload(header.kind) + 1);
  header.signature = {.sequence = random.next(),
                      .count = random.next(),
                      .root = static_cast<std::int32_t>(random.next()),
                      .kind = static_cast<OperationKind>(random.below(4)),
                      .type = static_cast<DataType>(random.below(4)),
                      .op = static_cast<ReduceOp>(random.below(3)),
                      .plan = static_cast<std::uint32_t>(random.next()),
                      .history = random.next()};
  return header;
}

TEST(Header, ComesBackAsItWas) {
  for (std::uint64_t seed = 1; seed <= 10'000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const MessageHeader header = random_header(random);
    const Result<MessageHeader> decoded = decode_header(encode_header(header));
    ASSERT_TRUE(decoded.ok()) << decoded.status().to_string();
    ASSERT_EQ(*decoded, header);
  }
}

TEST(Header, ItsFirstBytesNameTheFormat) {
  const HeaderBytes bytes = encode_header({});
  EXPECT_EQ(to_text(ByteView(bytes).first(4)), "PLm1");
}

// What decoding says when the byte at `offset` is `value`.
Status with_byte(const MessageHeader& header, std::size_t offset, std::uint8_t value) {
  HeaderBytes bytes = encode_header(header);
  bytes[offset] = static_cast<std::byte>(value);
  return decode_header(bytes).status();
}

TEST(Header, EachFieldOutOfItsRangeIsRefused) {
  const struct {
    std::size_t offset;
    std::uint8_t value;
    std::string said;
  } rows[] = {{0, 0, "magic"},
              {3, 0, "magic"},
              {40, 6, "kind"},
              {41, std::size(kOperationKinds), "operation"},
              {42, std::size(kDataTypes), "type"},
              {43, std::size(kReduceOps), "op"},
              {15, 1, "payload"},
              {40, 255, "kind"},
              {42, 255, "type"}};
  for (const auto& row : rows) {
    const Status status = with_byte({}, row.offset, row.value);
    EXPECT_EQ(status.code(), Code::kUnavailable) << row.offset;
    EXPECT_EQ(status.scope(), Scope::kPeer) << row.offset;
    EXPECT_NE(status.text().find("malformed message: "), std::string::npos);
    EXPECT_NE(status.text().find(row.said), std::string::npos) << status.text();
  }
}

TEST(Header, PayloadsHaveALimitOfTheirKind) {
  for (const MessageKind kind : kKinds) {
    const std::uint64_t limit = longest_payload(kind);
    EXPECT_TRUE(decode_header(encode_header({.kind = kind, .payload_bytes = limit})).ok());
    for (const std::uint64_t more : {limit + 1, std::numeric_limits<std::uint64_t>::max()}) {
      EXPECT_FALSE(decode_header(encode_header({.kind = kind, .payload_bytes = more})).ok());
    }
  }
}

// Every byte of valid headers set to every value: refused, or a header that encodes to these bytes.
TEST(Header, ACorruptByteIsRefusedOrMeansWhatItSays) {
  Random random(1);
  for (int round = 0; round < 20; ++round) {
    const HeaderBytes valid = encode_header(random_header(random));
    for (std::size_t offset = 0; offset < kHeaderBytes; ++offset) {
      for (int value = 0; value < 256; ++value) {
        HeaderBytes bytes = valid;
        bytes[offset] = static_cast<std::byte>(value);
        const Result<MessageHeader> decoded = decode_header(bytes);
        if (!decoded.ok()) continue;
        ASSERT_EQ(encode_header(*decoded), bytes) << "byte " << offset;
      }
    }
  }
}

TEST(Header, ALoanIsAPlaceAndALength) {
  const auto of = [](std::uint64_t bytes) {
    return decode_header(encode_header({.kind = MessageKind::kLoan, .payload_bytes = bytes}));
  };
  EXPECT_TRUE(of(sizeof(LoanBytes)).ok());
  for (const std::uint64_t wrong : {0u, 8u, 15u, 17u}) EXPECT_FALSE(of(wrong).ok()) << wrong;
  const Loan loan{.place = std::uint64_t{1} << 63, .bytes = 4097};
  EXPECT_EQ(decode_loan(encode_loan(loan)), loan);
}

TEST(Header, RandomBytesAreRefused) {
  Random random(2);
  for (int round = 0; round < 100'000; ++round) {
    HeaderBytes bytes;
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next());
    ASSERT_FALSE(decode_header(bytes).ok());
  }
}

}  // namespace
}  // namespace paceline
