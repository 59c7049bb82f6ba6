// What agents tell the head before a job starts. Surveys: what is believed is within its bounds,
// leads to rails that have an end for each host, and trials that were asked for; whatever is told
// of those, in any order and as often as it likes, the table never calls a rail good that has not
// been reached by all.

#include <string>
#include <vector>

#include "comm/base/assert.h"
#include "launcher/connectivity/host_oddities.h"
#include "launcher/connectivity/pair_faults.h"
#include "launcher/connectivity/pair_table.h"
#include "launcher/connectivity/rails.h"
#include "launcher/connectivity/survey.h"
#include "tests/fuzz/fuzz_input.h"

namespace paceline::launcher {
namespace {

constexpr std::size_t kHosts = 3;

template <class Message>
bool parse(Message& message, ByteView bytes) {
  return message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

void check(const HostSurvey& survey) {
  PACELINE_ASSERT(survey.door > 0 && survey.door < 65536 && survey.own_name.size() <= 255);
  PACELINE_ASSERT(survey.interfaces.size() <= kMaxSurveyedAddresses);
  for (const HostInterface& one : survey.interfaces) {
    PACELINE_ASSERT(!one.name.empty() && one.name.size() <= NetChoice::kMaxNameBytes);
    PACELINE_ASSERT(one.prefix_bits >= 0 && one.prefix_bits <= one.address.bits());
    PACELINE_ASSERT(one.mtu >= 0 && one.speed_mbits >= 0);
  }
}

// One host says what the input does; the others are as usual.
std::vector<HostSurvey> hosts_with(const HostSurvey& survey) {
  std::vector<HostSurvey> hosts;
  for (std::size_t i = 0; i < kHosts; ++i) {
    const std::string number = std::to_string(i + 1);
    hosts.push_back({.host = "h" + number,
                     .own_name = "node" + number,
                     .machine = number,
                     .reached_by = "10.0.0." + number,
                     .door = 4000});
    hosts.back().interfaces = survey.interfaces;
    hosts.back().interfaces.push_back({.name = "eth0",
                                       .address = *IpAddress::parse("10.0.0." + number),
                                       .prefix_bits = 24,
                                       .mtu = 1500,
                                       .is_up = true});
  }
  hosts[0].own_name = survey.own_name;
  hosts[0].machine = survey.machine;
  hosts[1].interfaces = {hosts[1].interfaces.back()};
  return hosts;
}

void check(PairTable table, ByteView bytes) {
  messages::Tried tried;
  std::size_t reached = 0;
  if (parse(tried, bytes)) {
    for (const messages::Trial& trial : tried.trials()) {
      const std::size_t from = trial.target() / 7 % kHosts;
      const bool taken = table.note(from, trial.target(), trial.end()).ok();
      reached += taken && trial.end() == messages::REACHED ? 1u : 0u;
    }
    for (const std::string& text : tried.half_open())
      if (const auto address = IpAddress::parse(text)) table.note_half_open(0, *address);
  }
  if (table.best()) PACELINE_ASSERT(reached >= kHosts * (kHosts - 1));
  const std::vector<std::string> names{"h1", "h2", "h3"};
  if (!table.best()) PACELINE_ASSERT(!describe_faults(table, names).empty());
}

}  // namespace
}  // namespace paceline::launcher

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace paceline::launcher;
  paceline::fuzz::FuzzInput input(data, size);
  const std::size_t first = input.byte();
  messages::Surveyed message;
  if (!parse(message, input.bytes(first))) message.Clear();
  const auto survey = read_survey(message);
  if (survey.ok()) check(*survey);
  const auto hosts = hosts_with(survey.ok() ? *survey : HostSurvey{});
  PACELINE_ASSERT(oddities_of(hosts).size() <= 2 * kHosts + 1);
  auto rails = rails_of(hosts, paceline::NetChoice());
  if (!rails.ok()) {  // it may claim the addresses of all others
    PACELINE_ASSERT(rails.status().text().find("host h") != std::string::npos);
    return 0;
  }
  PACELINE_ASSERT(!rails->empty() && rails->size() <= kMaxRails);
  for (const Rail& rail : *rails) PACELINE_ASSERT(rail.ends.size() == kHosts);
  check(PairTable(*std::move(rails)), input.rest());
  return 0;
}
