#include "launcher/tools/measure/check/check_run.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "launcher/system/host.h"
#include "launcher/tools/measure/check/check_options.h"

namespace paceline::launcher {
namespace {

using Names = std::vector<std::string>;

Result<Names> hosts_of(const std::vector<std::string>& words) {
  return hosts_to_check(parse_check(words).value().job);
}

TEST(CheckRun, EachHostOnceInTheOrderOfTheirNames) {
  EXPECT_EQ(hosts_of({"-H", "c:4,a,c,b:2"}).value(), (Names{"c", "a", "b"}));
  EXPECT_EQ(hosts_of({"-H", "a,localhost,127.0.0.1"}).value(), (Names{"a", host_name()}));
}

TEST(CheckRun, AHostfileIsAFile) {
  EXPECT_EQ(hosts_of({"--hostfile", "/no/such/file"}).status().text(),
            "cannot read the hostfile '/no/such/file': No such file or directory");
  EXPECT_EQ(hosts_of({"--hostfile", "/dev/null"}).status().text(),
            "cannot read the hostfile '/dev/null': not a regular file");
}

}  // namespace
}  // namespace paceline::launcher
