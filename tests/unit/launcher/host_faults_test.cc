#include "launcher/job/host_faults.h"

#include <gtest/gtest.h>

namespace paceline::launcher {
namespace {

TEST(HostFaults, TheFirstOfEachHostComesBack) {
  HostFaults faults;
  faults.add({.host = "h4", .why = "no \"answer\"\n\xff"});
  faults.add({.host = "h2", .why = "is gone", .or_host = "h1"});
  faults.add({.host = "h4", .why = "is stopped"});
  const auto read = parse_host_faults(host_faults_json(faults.all()));
  ASSERT_TRUE(read.ok()) << read.status().text();
  ASSERT_EQ(read->size(), 2u);
  EXPECT_EQ((*read)[0].host, "h4");
  EXPECT_EQ((*read)[0].why, "no \"answer\"\n\xef\xbf\xbd");
  EXPECT_EQ((*read)[1], (HostFault{.host = "h2", .why = "is gone", .or_host = "h1"}));
  EXPECT_TRUE(parse_host_faults(host_faults_json({}))->empty());
}

TEST(HostFaults, AnythingElseIsRefused) {
  for (const char* text : {"", "[]", "{}", R"({"paceline_host_faults": 2, "hosts": []})",
                           R"({"paceline_host_faults": 1, "hosts": [{"name": 3}]})"})
    EXPECT_FALSE(parse_host_faults(text).ok()) << text;
}

}  // namespace
}  // namespace paceline::launcher
