#include "comm/wire.h"

#include <gtest/gtest.h>

#include "comm/base/random.h"

namespace paceline {
namespace {

MessageHeader random_header(Random& random) {
  return {.kind = MessageKind::kData,
          .signature = {.sequence = random.next(),
                        .count = random.next(),
                        .root = static_cast<std::int32_t>(random.next()),
                        .kind = static_cast<OperationKind>(random.below(3)),
                        .type = kDataTypes[random.below(std::size(kDataTypes))],
                        .op = kReduceOps[random.below(std::size(kReduceOps))],
                        .plan = static_cast<std::uint32_t>(random.next())},
          .payload_bytes = random.below(kMaxPayloadBytes)};
}

TEST(Wire, HeadersComeBackAsTheyWere) {
  Random random(1);
  for (int i = 0; i < 1000; ++i) {
    const MessageHeader header = random_header(random);
    const auto decoded = decode_header(encode_header(header));
    ASSERT_TRUE(decoded.ok());
    EXPECT_EQ(*decoded, header);
  }
}

TEST(Wire, ADamagedHeaderIsRefusedOrReadsAsAnother) {
  Random random(2);
  for (int i = 0; i < 200; ++i) {
    const MessageHeader header = random_header(random);
    for (std::size_t place = 0; place < kHeaderBytes; ++place) {
      HeaderBytes bytes = encode_header(header);
      bytes[place] ^= static_cast<std::byte>(1 + random.below(255));
      const auto decoded = decode_header(bytes);
      if (decoded.ok()) {
        EXPECT_NE(*decoded, header);
      }
    }
  }
}

TEST(Wire, LengthsAreBoundedByKind) {
  MessageHeader header{.kind = MessageKind::kData, .payload_bytes = kMaxPayloadBytes + 1};
  EXPECT_FALSE(decode_header(encode_header(header)).ok());
  header = {.kind = MessageKind::kNotice, .payload_bytes = kMaxNoticeBytes + 1};
  EXPECT_FALSE(decode_header(encode_header(header)).ok());
  header = {.kind = MessageKind::kInquiry, .payload_bytes = 1};
  EXPECT_FALSE(decode_header(encode_header(header)).ok());
}

TEST(Wire, NoticesComeBackAndLongTextsAreCut) {
  const Status error(Code::kMismatch, Scope::kGroup, std::string(5000, 'x'),
                     {.rank = 3, .host = "host", .operation = "barrier #1", .sequence = 1});
  const Bytes bytes = encode_notice(error);
  EXPECT_LE(bytes.size(), kMaxNoticeBytes);
  Status decoded;
  ASSERT_TRUE(decode_notice(bytes, decoded).ok());
  EXPECT_EQ(decoded.code(), error.code());
  EXPECT_EQ(decoded.scope(), error.scope());
  EXPECT_EQ(decoded.culprit(), error.culprit());
  EXPECT_EQ(decoded.text(), error.text().substr(0, decoded.text().size()));
}

TEST(Wire, ANoticeIsNeverASuccess) {
  Status decoded;
  Bytes bytes = encode_notice(Status(Code::kTimeout, Scope::kGroup, "text"));
  bytes[0] = std::byte{0};
  EXPECT_FALSE(decode_notice(bytes, decoded).ok());
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(decode_notice(ByteView(bytes).first(length), decoded).ok());
  }
}

}  // namespace
}  // namespace paceline
