#include "launcher/job/hosts_aside.h"

#include "comm/base/text.h"

namespace paceline::launcher {

void HostsAside::add(const std::string& host, const std::string& why, TimePoint until) {
  std::erase_if(hosts_, [&host](const Aside& one) { return one.host == host; });
  hosts_.push_back({.host = host, .why = why, .until = until});
}

bool HostsAside::has(std::string_view host, TimePoint now) const {
  for (const Aside& one : hosts_)
    if (one.host == host) return now <= one.until;
  return false;
}

std::string HostsAside::text(TimePoint now) const {
  std::vector<std::string> texts;
  for (const Aside& one : hosts_)
    if (now <= one.until) texts.push_back("host " + one.host + " (" + one.why + ")");
  return joined(texts, ", ");
}

}  // namespace paceline::launcher
