#include "comm/bytes.h"

#include <limits>

#include <gtest/gtest.h>

#include "comm/base/random.h"

namespace paceline {
namespace {

enum class Colour : std::uint16_t { kRed = 0x1234 };

TEST(Bytes, FieldsAreLittleEndian) {
  Bytes bytes;
  ByteWriter writer(bytes);
  writer.put(std::uint32_t{0x01020304});
  writer.put(Colour::kRed);
  writer.put(std::int8_t{-1});
  EXPECT_EQ(to_text(bytes), std::string("\x04\x03\x02\x01\x34\x12\xff"));
}

template <class T>
void expect_round_trip(T value) {
  Bytes bytes;
  ByteWriter(bytes).put(value);
  ASSERT_EQ(bytes.size(), sizeof(T));
  ByteReader reader(bytes);
  EXPECT_EQ(reader.get<T>(), value);
  EXPECT_TRUE(reader.complete());
}

TEST(Bytes, NumbersComeBackWhateverTheirSizeAndSign) {
  for (const auto value : {std::numeric_limits<std::int64_t>::min(), std::int64_t{-1},
                           std::int64_t{0}, std::numeric_limits<std::int64_t>::max()}) {
    expect_round_trip(value);
    expect_round_trip(static_cast<std::int32_t>(value));
    expect_round_trip(static_cast<std::int16_t>(value));
    expect_round_trip(static_cast<std::int8_t>(value));
    expect_round_trip(static_cast<std::uint64_t>(value));
    expect_round_trip(static_cast<std::uint8_t>(value));
  }
  expect_round_trip(Colour::kRed);
}

TEST(Bytes, TextsComeBackWithZerosAndAll) {
  for (const std::string& text : {std::string(), std::string("a"), std::string("\0\xff\n", 3)}) {
    Bytes bytes;
    ByteWriter(bytes).put_text(text);
    ASSERT_EQ(bytes.size(), 4 + text.size());
    ByteReader reader(bytes);
    EXPECT_EQ(reader.get_text(text.size()), text);
    EXPECT_TRUE(reader.complete());
  }
}

TEST(ByteReader, AFieldThatIsNotThereReadsAsZeroAndIsRemembered) {
  const Bytes bytes(7, std::byte{0xFF});
  ByteReader reader(bytes);
  EXPECT_EQ(reader.get<std::uint64_t>(), 0u);
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reader.get<std::uint8_t>(), 0u) << "what follows a missing field is missing too";
  EXPECT_EQ(reader.get_text(100), "");
  EXPECT_TRUE(reader.take(1).empty());
  EXPECT_EQ(reader.left(), 0u);
  EXPECT_FALSE(reader.ok());
  EXPECT_FALSE(reader.complete());
}

TEST(ByteReader, WhatIsLeftOverIsNotComplete) {
  const Bytes bytes(3);
  ByteReader reader(bytes);
  reader.get<std::uint16_t>();
  EXPECT_TRUE(reader.ok());
  EXPECT_EQ(reader.left(), 1u);
  EXPECT_FALSE(reader.complete());
  reader.take(1);
  EXPECT_TRUE(reader.complete());
}

TEST(ByteReader, TakesNothingAndEverything) {
  const Bytes bytes(5, std::byte{7});
  ByteReader reader(bytes);
  EXPECT_TRUE(reader.take(0).empty());
  EXPECT_TRUE(reader.ok());
  EXPECT_EQ(reader.take(5).data(), bytes.data()) << "a view, not a copy";
  EXPECT_TRUE(reader.complete());
  EXPECT_TRUE(ByteReader({}).complete());
}

TEST(ByteReader, TextsOverTheirLimitAreRefusedAndNothingBehindThemIsRead) {
  Bytes bytes;
  ByteWriter writer(bytes);
  writer.put_text("12345");
  writer.put(std::uint32_t{0xFFFFFFFF});
  ByteReader reader(bytes);
  EXPECT_EQ(reader.get_text(4), "");
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reader.get<std::uint32_t>(), 0u);
}

TEST(ByteReader, ATextLongerThanItsBytesIsRefused) {
  Bytes bytes;
  ByteWriter writer(bytes);
  writer.put(std::uint32_t{1'000'000'000});
  writer.put_bytes(as_byte_view("short"));
  ByteReader reader(bytes);
  EXPECT_EQ(reader.get_text(std::numeric_limits<std::size_t>::max()), "");
  EXPECT_FALSE(reader.ok());
}

// Any bytes read as any fields: no crash, no byte beyond the end (the address sanitizer looks).
TEST(ByteReader, RandomBytesDoNoHarm) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Bytes bytes(random.below(40));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.below(16));
    ByteReader reader(bytes);
    for (int field = 0; field < 20; ++field) {
      const std::size_t before = reader.left();
      switch (random.below(4)) {
        case 0:
          reader.get<std::uint8_t>();
          break;
        case 1:
          reader.get<std::int64_t>();
          break;
        case 2:
          EXPECT_LE(reader.get_text(8).size(), 8u);
          break;
        default:
          EXPECT_LE(reader.take(random.below(50)).size(), before);
      }
      ASSERT_LE(reader.left(), before);
    }
  }
}

}  // namespace
}  // namespace paceline
