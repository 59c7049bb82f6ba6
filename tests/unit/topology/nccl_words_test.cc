#include "topology/model/nccl_words.h"

#include <string>

#include <gtest/gtest.h>

namespace paceline::topology {
namespace {

TEST(CpuMasks, HaveTheHighestWordFirst) {
  const auto mask = parse_cpu_mask("0003ff,f0003fff");
  ASSERT_TRUE(mask.has_value());
  EXPECT_EQ(mask->cpus.to_text(), "0-13,28-41");
  EXPECT_EQ(mask->first_digits, 6);
  EXPECT_EQ(mask->short_digits, 0);
  EXPECT_EQ(parse_cpu_mask("1,ff,00000000")->short_digits, 2);
  EXPECT_TRUE(parse_cpu_mask("")->cpus.is_empty());
}

TEST(CpuMasks, AreNothingElse) {
  for (const char* const text :
       {"g", ",", "ff,", ",ff", "ff,,ff", "0x0f", "000000001", "0-3", " f"})
    EXPECT_FALSE(parse_cpu_mask(text).has_value()) << text;
  std::string many = "1";
  for (int i = 0; i < 2047; ++i) many += ",00000000";
  EXPECT_EQ(parse_cpu_mask(many)->cpus.first(), 65504U);
  EXPECT_FALSE(parse_cpu_mask(many + ",00000000").has_value());
}

TEST(CpuMasks, AreWrittenInWordsOfEightDigits) {
  EXPECT_EQ(cpu_mask_text(CpuSet::parse("0-13,28-41").value()), "000003ff,f0003fff");
  EXPECT_EQ(cpu_mask_text(CpuSet::parse("64").value()), "00000001,00000000,00000000");
  EXPECT_EQ(cpu_mask_text(CpuSet()), "00000000");
}

TEST(PciClasses, AreDigitsInPairs) {
  EXPECT_EQ(class_digits("0x030200"), "030200");
  EXPECT_EQ(class_digits("0x03"), "03");
  EXPECT_EQ(class_digits("0x30200"), "030200") << "printed as a number";
  EXPECT_EQ(class_digits("0X0680AB"), "0680ab");
  EXPECT_EQ(class_digits(""), "");
  EXPECT_EQ(class_digits("GPU"), std::nullopt);
  EXPECT_EQ(class_digits("0x03020000"), std::nullopt);
}

TEST(GuidsOfNccl, AreTheBytesOfSysfsTurnedAround) {
  EXPECT_EQ(guid_of_nccl("0x0a00004b00020018"), "1800:0200:4b00:000a");
  EXPECT_EQ(guid_for_nccl("1800:0200:4b00:000a"), "0xa00004b00020018");
  EXPECT_EQ(guid_of_nccl("0x1"), std::nullopt) << "somebody has counted";
  EXPECT_EQ(guid_of_nccl(""), std::nullopt);
  EXPECT_EQ(guid_of_nccl("0x10a00004b00020018"), std::nullopt);
  EXPECT_EQ(guid_for_nccl("0000:0000:0000:0000"), std::nullopt);
  EXPECT_EQ(guid_for_nccl("mlx5_0"), std::nullopt);
}

}  // namespace
}  // namespace paceline::topology
