#include "launcher/channel/frame.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::launcher {
namespace {

std::vector<std::string> decode(const std::vector<std::string>& chunks) {
  FrameDecoder decoder;
  std::vector<std::string> payloads;
  for (const std::string& chunk : chunks) {
    decoder.append(chunk);
    for (;;) {
      const auto payload = decoder.next();
      EXPECT_TRUE(payload.ok());
      if (!payload.ok() || !*payload) break;
      payloads.emplace_back(**payload);
    }
  }
  return payloads;
}

TEST(Frame, LengthThenPayload) {
  EXPECT_EQ(*encode_frame("abc"), std::string("\3\0\0\0abc", 7));
  EXPECT_EQ(encode_frame(std::string(258, 'x'))->substr(0, 4), std::string("\2\1\0\0", 4));
}

TEST(Frame, AnyChunking) {
  const std::vector<std::string> payloads{"", "a", std::string(1009, 'b'), "", "end"};
  std::string stream;
  for (const std::string& payload : payloads) stream += *encode_frame(payload);
  for (const std::size_t size : {std::size_t{1}, std::size_t{3}, std::size_t{7}, stream.size()}) {
    std::vector<std::string> chunks;
    for (std::size_t at = 0; at < stream.size(); at += size)
      chunks.push_back(stream.substr(at, size));
    EXPECT_EQ(decode(chunks), payloads) << "chunks of " << size;
  }
}

TEST(Frame, KnowsWhetherAFrameIsUnfinished) {
  FrameDecoder decoder;
  EXPECT_FALSE(decoder.partial());
  decoder.append(encode_frame("abc")->substr(0, 5));
  EXPECT_FALSE(decoder.next()->has_value());
  EXPECT_TRUE(decoder.partial());
}

TEST(Frame, RefusesWhatIsTooLong) {
  EXPECT_TRUE(encode_frame(std::string(kMaxFrameBytes, 'x')).ok());
  EXPECT_EQ(encode_frame(std::string(kMaxFrameBytes + 1, 'x')).status().code(), Code::kExhausted);
  FrameDecoder decoder;
  decoder.append(std::string("\1\0\x40\0", 4));  // 4 MiB and one byte; none of it has come
  EXPECT_EQ(decoder.next().status().code(), Code::kExhausted);
}

}  // namespace
}  // namespace paceline::launcher
