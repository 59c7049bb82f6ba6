#include "comm/bytes.h"

#include <gtest/gtest.h>

namespace paceline {
namespace {

TEST(Bytes, WhatIsWrittenIsRead) {
  Bytes bytes;
  ByteWriter writer(bytes);
  writer.put(std::uint8_t{0xAB});
  writer.put(std::int64_t{-2});
  writer.put_text("word");
  EXPECT_EQ(bytes.size(), 1u + 8 + 4 + 4);
  ByteReader reader(bytes);
  EXPECT_EQ(reader.get<std::uint8_t>(), 0xAB);
  EXPECT_EQ(reader.get<std::int64_t>(), -2);
  EXPECT_EQ(reader.get_text(4), "word");
  EXPECT_TRUE(reader.complete());
}

TEST(Bytes, AMissingFieldSpoilsTheWholeRecord) {
  const Bytes bytes(3);
  ByteReader reader(bytes);
  EXPECT_EQ(reader.get<std::uint32_t>(), 0u);
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reader.get<std::uint8_t>(), 0u);
  EXPECT_FALSE(reader.complete());
}

TEST(Bytes, ATextBeyondItsLimitIsNotTaken) {
  Bytes bytes;
  ByteWriter(bytes).put_text("four");
  ByteReader reader(bytes);
  EXPECT_EQ(reader.get_text(3), "");
  EXPECT_FALSE(reader.ok());
}

}  // namespace
}  // namespace paceline
