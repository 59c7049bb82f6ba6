// Hostfiles and lists of hosts: what is accepted names at least one host, each with a name and
// slots within their bounds, and says the same when it is written down again.

#include "launcher/options/hostfile.h"

#include <string>
#include <vector>

#include "comm/base/assert.h"
#include "tests/fuzz/fuzz_input.h"

namespace paceline::launcher {
namespace {

using Hosts = std::vector<HostSlots>;

constexpr std::size_t kMaxErrorBytes = 512;  // whatever the file holds

std::string written(const Hosts& hosts, const std::string& before_slots, char between) {
  std::string text;
  for (const HostSlots& host : hosts) {
    if (!text.empty()) text += between;
    const bool is_address6 = host.name.find(':') != std::string::npos;
    text += is_address6 ? "[" + host.name + "]" : host.name;
    if (host.slots) text += before_slots + std::to_string(*host.slots);
  }
  return text;
}

void check(const Result<Hosts>& hosts) {
  if (!hosts.ok()) {
    PACELINE_ASSERT(hosts.status().code() == Code::kInvalidArgument);
    PACELINE_ASSERT(hosts.status().text().size() < kMaxErrorBytes);
    return;
  }
  PACELINE_ASSERT(!hosts->empty());
  for (const HostSlots& host : *hosts) {
    PACELINE_ASSERT(!host.name.empty() && host.name.size() <= 253);
    PACELINE_ASSERT(!host.slots || (*host.slots >= 1 && *host.slots <= kMaxRanks));
  }
  const Result<Hosts> list = parse_host_list(written(*hosts, ":", ','));
  PACELINE_ASSERT(list.ok() && *list == *hosts);
  const Result<Hosts> file = parse_hostfile(written(*hosts, " slots=", '\n'), "again");
  PACELINE_ASSERT(file.ok() && *file == *hosts);
}

}  // namespace
}  // namespace paceline::launcher

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  paceline::launcher::check(paceline::launcher::parse_hostfile(text, "hosts"));
  paceline::launcher::check(paceline::launcher::parse_host_list(text));
  return 0;
}
