#include "launcher/options/hostfile.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "comm/base/text.h"
#include "comm/base/try.h"
#include "launcher/options/option_values.h"

namespace paceline::launcher {
namespace {

constexpr std::size_t kMaxNameBytes = 253;  // of a domain name, RFC 1035
constexpr std::string_view kBlank = " \t\r\v\f";
constexpr std::string_view kNameLetters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
constexpr std::string_view kForms = "write name, name:4 or name slots=4";

Status wrong(const std::string& text) {
  return Status(Code::kInvalidArgument, Scope::kOperation, text);
}

// A wrong word may be anything: it is shown cut, and without what would disturb a terminal.
std::string quoted(std::string_view word) {
  return std::string("'").append(printable(word.substr(0, 64))) + (word.size() > 64 ? "…'" : "'");
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(kBlank), text.size());
  return text.substr(begin, text.find_last_not_of(kBlank) + 1 - begin);
}

Result<int> parse_slots(std::string_view text) {
  const Result<int> slots = parse_count(std::string(text));
  if (slots.ok()) return *slots;
  return wrong("the slots " + quoted(text) + " are not a whole number from 1 to " +
               std::to_string(kMaxRanks));
}

Result<HostSlots> parse_host(std::string_view word) {
  const std::size_t colon = word.find(':');
  const std::string_view name = word.substr(0, colon);
  if (name.empty() || name.size() > kMaxNameBytes || name.front() == '-' ||
      name.find_first_not_of(kNameLetters) != std::string_view::npos)
    return wrong(quoted(word) + " is not a host's name; " + std::string(kForms));
  HostSlots host{.name = std::string(name), .slots = std::nullopt};
  if (colon == std::string_view::npos) return host;
  PACELINE_TRY_ASSIGN(host.slots, parse_slots(word.substr(colon + 1)));
  return host;
}

// A line that is neither empty nor a comment.
Result<HostSlots> parse_line(std::string_view line) {
  constexpr std::string_view kSlots = "slots=";
  const std::size_t blank = std::min(line.find_first_of(kBlank), line.size());
  PACELINE_TRY_ASSIGN(HostSlots host, parse_host(line.substr(0, blank)));
  const std::string_view rest = trimmed(line.substr(blank));
  if (rest.empty()) return host;
  if (!rest.starts_with(kSlots))
    return wrong(quoted(rest) + " is not understood; " + std::string(kForms));
  if (host.slots) return wrong("the slots are stated twice");
  PACELINE_TRY_ASSIGN(host.slots, parse_slots(rest.substr(kSlots.size())));
  return host;
}

// Nothing where one of them has no slots stated.
std::optional<std::int64_t> stated_slots(std::span<const HostSlots> hosts) {
  std::int64_t sum = 0;
  for (const HostSlots& host : hosts) {
    if (!host.slots) return std::nullopt;
    sum += *host.slots;
  }
  return sum;
}

}  // namespace

Result<std::vector<HostSlots>> parse_host_list(std::string_view text) {
  std::vector<HostSlots> hosts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    PACELINE_TRY_ASSIGN(HostSlots host, parse_host(text.substr(begin, end - begin)));
    hosts.push_back(std::move(host));
    begin = end + 1;
  }
  return hosts;
}

Result<std::vector<HostSlots>> parse_hostfile(std::string_view text, const std::string& file) {
  std::vector<HostSlots> hosts;
  std::size_t number = 1;
  for (std::size_t begin = 0; begin < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    const std::string_view words = trimmed(line.substr(0, line.find('#')));
    if (words.empty()) continue;
    Result<HostSlots> host = parse_line(words);
    if (!host.ok()) return wrong(file + ":" + std::to_string(number) + ": " + host.status().text());
    hosts.push_back(*std::move(host));
  }
  if (hosts.empty()) return wrong(file + ": names no host; " + std::string(kForms) + " on a line");
  return hosts;
}

Status check_hosts(std::span<const HostSlots> hosts, int ranks,
                   std::span<const std::string> names_of_this_host) {
  for (const HostSlots& host : hosts) {
    if (std::find(names_of_this_host.begin(), names_of_this_host.end(), host.name) ==
        names_of_this_host.end())
      return wrong("host '" + host.name + "' is not this one, and a job runs on one host so far; " +
                   "name " + names_of_this_host.front() + " or localhost");
  }
  const std::optional<std::int64_t> slots = stated_slots(hosts);
  if (hosts.empty() || !slots || ranks <= *slots) return Status();
  return wrong("the job has " + std::to_string(ranks) + " ranks, but its hosts have " +
               std::to_string(*slots) + (*slots == 1 ? " slot; ask" : " slots; ask") +
               " for fewer ranks, or state more slots");
}

}  // namespace paceline::launcher
