#include "launcher/connectivity/host_oddities.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <ratio>
#include <set>
#include <utility>

#include "comm/base/text.h"

namespace paceline::launcher {
namespace {

constexpr std::size_t kMostNames = 4;

std::string hosts_text(const std::vector<std::string>& names) {
  return (names.size() == 1 ? "host " : "hosts ") + list_text(names, kMostNames);
}

// Machines, and a host of each.
using Machines = std::map<std::string, std::string>;

std::vector<std::string> hosts_of(const Machines& machines) {
  std::vector<std::string> all;
  for (const auto& [machine, host] : machines) all.push_back(host);
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<std::string> one_machine(std::span<const HostSurvey> hosts) {
  std::map<std::string, std::vector<std::string>> names;
  for (const HostSurvey& host : hosts)
    if (!host.machine.empty()) names[host.machine].push_back(host.host);
  std::vector<std::string> found;
  for (const auto& [machine, all] : names)
    if (all.size() > 1)
      found.push_back(hosts_text(all) +
                      " are the same machine; their ranks share its cores and links");
  return found;
}

std::vector<std::string> one_name(std::span<const HostSurvey> hosts) {
  std::map<std::string, Machines> names;
  for (const HostSurvey& host : hosts)
    names[host.own_name].emplace(host.machine_or_host(), host.host);
  std::vector<std::string> found;
  for (const auto& [own_name, machines] : names) {
    if (machines.size() < 2) continue;
    const std::vector<std::string> all = hosts_of(machines);
    found.push_back(hosts_text(all) + (all.size() == 2 ? " both" : " all") +
                    " have the hostname '" + own_name +
                    "', so programs that identify machines by hostname confuse them; give each its "
                    "own hostname");
  }
  return found;
}

// RFC 3927; service processors have one on every host.
bool is_link_local(const IpAddress& address) {
  return !address.is_v6() && address.network(16) == IpAddress::parse("169.254.0.0");
}

// Bridges of containers have the same address on every host, and nobody reaches them from there.
std::vector<std::string> one_address(std::span<const HostSurvey> hosts) {
  std::map<IpAddress, Machines> machines;
  for (const HostSurvey& host : hosts)
    for (const HostInterface& one : host.interfaces)
      if (one.kind == InterfaceKind::kOrdinary && one.is_up && !is_link_local(one.address))
        machines[one.address].emplace(host.machine_or_host(), host.host);
  std::vector<std::string> found;
  for (const auto& [address, having] : machines) {
    if (having.size() < 2) continue;
    found.push_back("the address " + address.to_string() + " is on " +
                    hosts_text(hosts_of(having)) +
                    ", so it is not used; give each host its own address");
  }
  return found;
}

std::string long_time(Duration duration) {
  using Days = std::chrono::duration<std::int64_t, std::ratio<86400>>;
  const auto days = std::chrono::round<Days>(duration);
  return days.count() > 1 ? std::to_string(days.count()) + " days"
                          : seconds_text(std::chrono::round<std::chrono::seconds>(duration));
}

// Against the time that most have, the head among them.
std::vector<std::string> other_times(std::span<const HostSurvey> hosts) {
  std::vector<Duration> ahead{Duration::zero()};
  for (const HostSurvey& host : hosts) ahead.push_back(host.clock_ahead);
  const auto middle = ahead.begin() + static_cast<std::ptrdiff_t>((ahead.size() - 1) / 2);
  std::nth_element(ahead.begin(), middle, ahead.end());
  const Duration usual = *middle;
  const auto sentence = [&](const std::string& whose, Duration clock_ahead) {
    const Duration apart = clock_ahead - usual;
    const bool behind = apart < Duration::zero();
    return std::string("the clock of ")
        .append(whose)
        .append(" is ")
        .append(long_time(behind ? -apart : apart))
        .append(behind ? " behind" : " ahead of")
        .append(" the others, so times of files and logs differ; use NTP");
  };
  const auto is_odd = [&](Duration clock_ahead) {
    return clock_ahead - usual > kSameTime || usual - clock_ahead > kSameTime;
  };
  std::vector<std::string> found;
  if (is_odd(Duration::zero())) found.push_back(sentence("this host", Duration::zero()));
  for (const HostSurvey& host : hosts)
    if (is_odd(host.clock_ahead)) found.push_back(sentence("host " + host.host, host.clock_ahead));
  return found;
}

}  // namespace

std::vector<std::string> oddities_of(std::span<const HostSurvey> hosts) {
  std::vector<std::string> all;
  for (auto find : {one_machine, one_name, one_address, other_times})
    for (std::string& sentence : find(hosts)) all.push_back(std::move(sentence));
  return all;
}

}  // namespace paceline::launcher
