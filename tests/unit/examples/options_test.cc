#include "examples/train_digits/options.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace digits {
namespace {

paceline::Result<Options> parse(const std::vector<const char*>& arguments) {
  return parse_options(arguments);
}

TEST(Options, DefaultsAreThoseOfTheStruct) {
  const auto options = parse({});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->data, PACELINE_EXAMPLE_DATA);
  EXPECT_EQ(options->batch % 12, 0u);
  EXPECT_FALSE(options->help);
}

TEST(Options, TakesValuesAfterABlankOrAnEqualsSign) {
  const auto options =
      parse({"--data", "a=b", "--epochs=3", "--batch", "24", "--hidden=5", "--rate", "2.5e-1",
             "--momentum=0", "--seed", "9", "--codec", "int8", "--curve=c", "--target", "97.5"});
  ASSERT_TRUE(options.ok()) << options.status().to_string();
  EXPECT_EQ(options->data, "a=b");
  EXPECT_EQ(options->epochs, 3u);
  EXPECT_EQ(options->batch, 24u);
  EXPECT_EQ(options->hidden, 5u);
  EXPECT_EQ(options->rate, 0.25f);
  EXPECT_EQ(options->momentum, 0.0f);
  EXPECT_EQ(options->seed, 9u);
  EXPECT_EQ(options->codec, paceline::Codec::kInt8);
  EXPECT_EQ(options->curve, "c");
  EXPECT_EQ(options->target, 97.5f);
}

TEST(Options, ErrorsNameTheOptionAndTheForm) {
  const auto error = [](const std::vector<const char*>& arguments) {
    return parse(arguments).status().text();
  };
  EXPECT_EQ(error({"--epoch", "3"}), "unknown option --epoch; --help lists what there is");
  EXPECT_EQ(error({"digits.csv"}), "unknown option digits.csv; --help lists what there is");
  EXPECT_EQ(error({"--epochs"}), "--epochs needs a whole number 1..100000");
  EXPECT_EQ(error({"--epochs=0"}), "--epochs needs a whole number 1..100000, not \"0\"");
  EXPECT_EQ(error({"--batch", "-3"}), "--batch needs a whole number 1..1000000, not \"-3\"");
  EXPECT_EQ(error({"--batch", "12x"}), "--batch needs a whole number 1..1000000, not \"12x\"");
  EXPECT_EQ(error({"--rate", "nan"}), "--rate needs a number from 0 to 100, not \"nan\"");
  EXPECT_EQ(error({"--target", "101"}), "--target needs a number from 0 to 100, not \"101\"");
  EXPECT_EQ(error({"--codec=int4"}),
            "--codec needs none, bf16, fp16, int8, topk, powersgd or auto, not \"int4\"");
  EXPECT_EQ(error({"--curve="}), "--curve needs a path, not \"\"");
}

TEST(Options, HelpNamesEveryOptionWithItsDefault) {
  EXPECT_TRUE(parse({"--help"})->help);
  const std::string text = help_text();
  for (const char* part : {"--data FILE", "--epochs N", "--batch N", "(default: 192)", "--hidden N",
                           "--rate R", "(default: 0.1)", "--momentum M", "--seed N", "--codec NAME",
                           "--curve FILE", "--target PERCENT", "paceline run -n 2"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part;
  }
}

}  // namespace
}  // namespace digits
