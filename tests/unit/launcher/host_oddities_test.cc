#include "launcher/connectivity/host_oddities.h"

#include <gtest/gtest.h>

#include "tests/unit/launcher/host_surveys.h"

namespace paceline::launcher {
namespace {

using std::chrono::seconds;
using Sentences = std::vector<std::string>;

std::vector<HostSurvey> four() {
  return {surveyed("a", {}), surveyed("b", {}), surveyed("c", {}), surveyed("d", {})};
}

TEST(HostOddities, UsualHostsHaveNone) {
  std::vector<HostSurvey> hosts = four();
  hosts[1].clock_ahead = std::chrono::milliseconds(1900);
  hosts[2].clock_ahead = std::chrono::milliseconds(-1900);
  EXPECT_EQ(oddities_of(hosts), Sentences());
}

TEST(HostOddities, TwoNamesOfOneMachine) {
  std::vector<HostSurvey> hosts = four();
  hosts[3].machine = hosts[1].machine;
  hosts[3].own_name = hosts[1].own_name;
  EXPECT_EQ(oddities_of(hosts),
            Sentences{"hosts b and d are the same machine; their ranks share its cores and links"});
}

TEST(HostOddities, TwoMachinesOfOneName) {
  std::vector<HostSurvey> hosts = four();
  hosts[3].own_name = hosts[1].own_name;
  EXPECT_EQ(
      oddities_of(hosts),
      Sentences{"hosts b and d both have the hostname 'b', so programs that identify machines "
                "by hostname confuse them; give each its own hostname"});
  for (HostSurvey& host : hosts) host.own_name = "localhost";
  hosts.push_back(surveyed("e", {}));
  hosts.push_back(surveyed("f", {}));
  hosts[4].own_name = hosts[5].own_name = "localhost";
  EXPECT_EQ(oddities_of(hosts)[0].substr(0, 51),
            "hosts a, b, c, d and 2 more all have the hostname '");
}

TEST(HostOddities, OneAddressOnTwoMachines) {
  const auto host = [](const std::string& name, const std::string& address) {
    return surveyed(name, {interface("eth0", address), interface("docker0", "172.17.0.1"),
                           interface("usb0", "169.254.3.1"), interface("lo", "127.0.0.1")});
  };
  EXPECT_EQ(oddities_of(std::vector{host("d1", "10.77.0.1"), host("d2", "10.77.0.3"),
                                    host("d3", "10.77.0.3")}),
            Sentences{"the address 10.77.0.3 is on hosts d2 and d3, so it is not used; give each "
                      "host its own address"});
}

TEST(HostOddities, AClockThatIsApart) {
  std::vector<HostSurvey> hosts = four();
  hosts[2].clock_ahead = seconds(300);
  EXPECT_EQ(oddities_of(hosts), Sentences{"the clock of host c is 300 s ahead of the others, so "
                                          "times of files and logs differ; use NTP"});
  hosts[2].clock_ahead = -std::chrono::hours(48);
  EXPECT_EQ(oddities_of(hosts), Sentences{"the clock of host c is 2 days behind the others, so "
                                          "times of files and logs differ; use NTP"});
}

TEST(HostOddities, TheHeadsOwnClockMayBeTheOneThatIsApart) {
  std::vector<HostSurvey> hosts = four();
  for (HostSurvey& host : hosts) host.clock_ahead = seconds(300);
  EXPECT_EQ(oddities_of(hosts), Sentences{"the clock of this host is 300 s behind the others, so "
                                          "times of files and logs differ; use NTP"});
}

}  // namespace
}  // namespace paceline::launcher
