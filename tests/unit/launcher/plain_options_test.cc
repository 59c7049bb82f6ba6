#include "launcher/options/plain_options.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::launcher {
namespace {

constexpr PlainOption kOptions[] = {{"--file", true}, {"--loud"}, {"-H", true}};
constexpr PlainCommand kCommand{.name = "try", .options = kOptions, .hint = "files go elsewhere"};

std::string given(const std::vector<std::string>& arguments) {
  const auto options = given_options(kCommand, arguments);
  if (!options.ok()) return options.status().text();
  std::string text;
  for (const GivenOption& option : *options) text += option.name + "=" + option.value + ";";
  return text;
}

TEST(PlainOptions, AreFlagsAndValues) {
  EXPECT_EQ(given({}), "");
  EXPECT_EQ(given({"--file", "a", "--loud", "-H", "b,c", "--file=d=e"}),
            "--file=a;--loud=;-H=b,c;--file=d=e;");
  EXPECT_EQ(given({"--file", "--loud"}), "--file=--loud;");
}

TEST(PlainOptions, SayWhichWordIsWrong) {
  EXPECT_EQ(given({"--flie", "a"}),
            "'--flie' is not an option of paceline try; did you mean '--file'?");
  EXPECT_EQ(given({"a"}), "'a' is not an option; files go elsewhere");
  EXPECT_EQ(given({"a=b"}), "'a=b' is not an option; files go elsewhere");
  EXPECT_EQ(given({"--loud=yes"}), "option --loud takes no value");
  EXPECT_EQ(given({"--file"}), "option --file needs a value");
  EXPECT_EQ(given({"--file="}), "option --file needs a value");
}

}  // namespace
}  // namespace paceline::launcher
