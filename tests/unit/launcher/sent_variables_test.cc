#include "launcher/head/sent_variables.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

namespace paceline::launcher {
namespace {

std::map<std::string, std::string> sent(bool paths, std::map<std::string, std::string> here) {
  std::map<std::string, std::string> found;
  const Variables variables = variables_for_others(paths, [&](const char* name) -> const char* {
    const auto variable = here.find(name);
    return variable != here.end() ? variable->second.c_str() : nullptr;
  });
  for (const messages::Variable& variable : variables) found[variable.name()] = variable.value();
  return found;
}

TEST(SentVariables, PathsThatAreSetAndNothingElse) {
  const std::map<std::string, std::string> paths{
      {"PATH", "/venv/bin:/bin"}, {"LD_LIBRARY_PATH", ""},  {"PYTHONPATH", "/src"},
      {"VIRTUAL_ENV", "/venv"},   {"CONDA_PREFIX", "/c/e"}, {"CONDA_DEFAULT_ENV", "e"}};
  auto here = paths;
  here["HOME"] = "/root";
  EXPECT_EQ(sent(true, here), paths);
  EXPECT_EQ(sent(true, {{"PATH", "/bin"}}), (std::map<std::string, std::string>{{"PATH", "/bin"}}));
}

TEST(SentVariables, WithoutPathsThoseThatTuneTheLibraryAreLeft) {
  const std::map<std::string, std::string> tuning{{"PACELINE_LOG_LEVEL", "debug"}};
  auto here = tuning;
  here["PATH"] = "/bin";
  EXPECT_EQ(sent(false, here), tuning);
  EXPECT_EQ(sent(true, here), here);
}

}  // namespace
}  // namespace paceline::launcher
