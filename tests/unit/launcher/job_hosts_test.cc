#include "launcher/head/job_hosts.h"

#include <algorithm>
#include <cctype>
#include <string>

#include <gtest/gtest.h>

#include "launcher/system/host.h"

namespace paceline::launcher {
namespace {

TEST(JobHosts, ThisHostIsKnownByAllItsNames) {
  std::string capitals = host_name();
  std::ranges::transform(capitals, capitals.begin(), ::toupper);
  for (const std::string& name :
       {host_name(), capitals, std::string("localhost"), std::string("LocalHost"),
        std::string("127.0.0.1"), std::string("::1")})
    EXPECT_TRUE(is_this_host(name)) << name;
  for (const char* name : {"", "h1", "localhost1", "192.0.2.1", "2001:db8::1"})
    EXPECT_FALSE(is_this_host(name)) << name;
}

}  // namespace
}  // namespace paceline::launcher
