#include "launcher/options/hostfile.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include <arpa/inet.h>

#include "comm/base/host_range.h"
#include "comm/base/text.h"
#include "comm/base/try.h"
#include "launcher/options/option_values.h"

namespace paceline::launcher {
namespace {

constexpr std::string_view kBlank = " \t\r\v\f";
constexpr std::string_view kNameLetters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
constexpr std::string_view kForms = "write name, name:4 or name slots=4";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// A wrong word may be anything: it is shown cut, and without what would disturb a terminal.
std::string quoted(std::string_view word) {
  return std::string("'").append(printable(word.substr(0, 64))) + (word.size() > 64 ? "…'" : "'");
}

// 0: the host is not used.
Result<int> parse_slots(std::string_view text) {
  if (text == "0") return 0;
  const Result<int> slots = parse_count(std::string(text));
  if (slots.ok()) return *slots;
  return usage_error("slots " + quoted(text) + " is not a whole number from 0 to " +
                     std::to_string(kMaxRanks));
}

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= kMostHostNameBytes && name.front() != '-' &&
         name.find_first_not_of(kNameLetters) == std::string_view::npos;
}

// RFC 4291; with a zone or without.
bool is_address6(std::string_view text) {
  in6_addr address{};
  const std::size_t zone = std::min(text.find('%'), text.size());
  if (zone < text.size() && !is_name(text.substr(zone + 1))) return false;
  const std::string number(text.substr(0, zone));
  return text.size() <= kMostHostNameBytes && number.find('\0') == number.npos &&
         ::inet_pton(AF_INET6, number.c_str(), &address) == 1;
}

Result<HostSlots> with_slots(std::string_view name, std::string_view slots) {
  HostSlots host{.name = std::string(name), .slots = std::nullopt};
  if (slots.empty()) return host;
  PACELINE_TRY_ASSIGN(host.slots, parse_slots(slots.substr(1)));
  return host;
}

// "name", "name:4", "fe80::1" or "[fe80::1]:4". Addresses stay as they are written.
Result<HostSlots> parse_host(std::string_view word) {
  if (is_address6(word)) return with_slots(word, "");
  const std::size_t close = word.starts_with('[') ? word.find(']') : 0;
  if (close != 0 && close != std::string_view::npos) {
    const std::string_view rest = word.substr(close + 1);
    if (is_address6(word.substr(1, close - 1)) && (rest.empty() || rest.front() == ':'))
      return with_slots(word.substr(1, close - 1), rest);
  }
  const std::size_t colon = std::min(word.find(':'), word.size());
  if (word.find('@') != std::string_view::npos)
    return usage_error(
        quoted(word) +
        " names a user; set User of the host in ~/.ssh/config, or use --ssh-args '-l "
        "USER', and write the host alone");
  if (!is_name(word.substr(0, colon)))
    return usage_error(quoted(word) + " is not a host name; " + std::string(kForms));
  return with_slots(word.substr(0, colon), word.substr(colon));
}

// "node[01-16]:4" is 16 hosts with 4 slots each.
Result<std::vector<HostSlots>> parse_hosts(std::string_view word) {
  const std::size_t open = word.find('[');
  if (open == 0 || open == std::string_view::npos) {
    PACELINE_TRY_ASSIGN(HostSlots host, parse_host(word));
    return std::vector<HostSlots>{std::move(host)};
  }
  const std::size_t colon = std::min(word.find(':', word.rfind(']')), word.size());
  PACELINE_TRY_ASSIGN(const std::vector<std::string> names, expand_hosts(word.substr(0, colon)));
  std::vector<HostSlots> hosts;
  for (const std::string& name : names) {
    PACELINE_TRY_ASSIGN(HostSlots host, parse_host(name + std::string(word.substr(colon))));
    hosts.push_back(std::move(host));
  }
  return hosts;
}

struct StatedSlots {
  std::optional<int> slots;
  std::optional<int> most;  // Open MPI's max_slots
};

// What ssh reads from its own configuration is said there.
Status unknown_statement(std::string_view statement) {
  const std::string_view name = statement.substr(0, statement.find('='));
  const std::string word = quoted(name);
  if (name == "user" || name == "username" || name == "port")
    return usage_error(
        word +
        " is not a word of hostfiles; set User or Port of the host in ~/.ssh/config, "
        "or use --ssh-args");
  if (name == "binding" || name == "cpus" || name == "boards" || name == "sockets" ||
      name == "cores")
    return usage_error(word + " is not a word of hostfiles; use --map-by and --bind-to");
  return usage_error(quoted(statement) + " is unknown; " + std::string(kForms));
}

// "slots=4 max_slots=8", also with blanks at '=': what Open MPI and MPICH allow behind a name.
Result<StatedSlots> parse_statements(std::string_view text) {
  StatedSlots stated;
  while (!text.empty()) {
    const std::size_t equals = std::min(text.find('='), text.size());
    const std::string_view name = trimmed(text.substr(0, equals), kBlank);
    const bool is_most = name == "max_slots" || name == "max-slots" || name == "maxslots";
    if (!is_most && name != "slots" && name != "count")
      return unknown_statement(text.substr(0, text.find_first_of(kBlank)));
    const std::string_view rest = trimmed(text.substr(std::min(equals + 1, text.size())), kBlank);
    const std::size_t end = std::min(rest.find_first_of(kBlank), rest.size());
    std::optional<int>& slots = is_most ? stated.most : stated.slots;
    if (slots) return usage_error(std::string(name) + "= occurs twice");
    PACELINE_TRY_ASSIGN(slots, parse_slots(rest.substr(0, end)));
    if (is_most && *slots == 0)
      return usage_error(std::string(name) + "=0 leaves no slots; remove the host");
    text = trimmed(rest.substr(end), kBlank);
  }
  return stated;
}

// A line that is neither empty nor a comment.
Result<std::vector<HostSlots>> parse_line(std::string_view line) {
  const std::size_t blank = std::min(line.find_first_of(kBlank), line.size());
  PACELINE_TRY_ASSIGN(std::vector<HostSlots> hosts, parse_hosts(line.substr(0, blank)));
  PACELINE_TRY_ASSIGN(const StatedSlots stated,
                      parse_statements(trimmed(line.substr(blank), kBlank)));
  if (hosts.front().slots && stated.slots)
    return usage_error("slots are stated twice, after ':' and after slots=; remove one");
  for (HostSlots& host : hosts) {
    if (stated.slots) host.slots = stated.slots;
    if (stated.most && host.slots.value_or(*stated.most) > *stated.most)
      return usage_error(std::to_string(*host.slots) +
                         " slots are more than max_slots=" + std::to_string(*stated.most));
    if (!host.slots) host.slots = stated.most;
  }
  return hosts;
}

void leave_out_unused(std::vector<HostSlots>& hosts) {
  std::erase_if(hosts, [](const HostSlots& host) { return host.slots == 0; });
}

}  // namespace

Result<std::vector<HostSlots>> parse_host_list(std::string_view text) {
  std::vector<HostSlots> hosts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = end_of_host(text, begin);
    PACELINE_TRY_ASSIGN(auto more, parse_hosts(text.substr(begin, end - begin)));
    hosts.insert(hosts.end(), more.begin(), more.end());
    begin = end + 1;
  }
  leave_out_unused(hosts);
  if (hosts.empty()) return usage_error("all hosts have 0 slots");
  return hosts;
}

Result<HostOption> parse_host_option(std::string_view text) {
  HostOption option;
  std::vector<std::string> named;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = end_of_host(text, begin);
    const std::string_view word = text.substr(begin, end - begin);
    begin = end + 1;
    if (!word.starts_with('^')) {
      named.emplace_back(word);
      continue;
    }
    PACELINE_TRY_ASSIGN(const auto hosts, parse_hosts(word.substr(1)));
    if (hosts.front().slots) return usage_error(quoted(word) + " excludes a host; leave out slots");
    for (const HostSlots& host : hosts) option.excluded.push_back(host.name);
  }
  if (option.excluded.empty() || !named.empty()) {
    PACELINE_TRY_ASSIGN(option.hosts, parse_host_list(joined(named, ",")));
  }
  return option;
}

Result<std::vector<HostSlots>> without_excluded(std::vector<HostSlots> hosts,
                                                const std::vector<std::string>& excluded) {
  for (const std::string& name : excluded) {
    const auto is_it = [&](const HostSlots& host) { return host.name == name; };
    if (std::erase_if(hosts, is_it) == 0)
      return usage_error("-H ^" + name + " excludes a host that is not among the hosts of the job");
  }
  if (hosts.empty() && !excluded.empty()) return usage_error("-H excludes all hosts of the job");
  return hosts;
}

Result<std::vector<HostSlots>> parse_hostfile(std::string_view text, const std::string& file) {
  std::vector<HostSlots> hosts;
  std::size_t number = 1;
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  for (std::size_t begin = 0; begin < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    const std::string_view words = trimmed(line.substr(0, line.find('#')), kBlank);
    if (words.empty()) continue;
    const Result<std::vector<HostSlots>> more = parse_line(words);
    if (!more.ok())
      return usage_error(file + ":" + std::to_string(number) + ": " + more.status().text());
    hosts.insert(hosts.end(), more->begin(), more->end());
    if (hosts.size() > kMaxRanks)
      return usage_error(file + ": has more than " + std::to_string(kMaxRanks) + " hosts");
  }
  const bool has_unused = !hosts.empty();
  leave_out_unused(hosts);
  if (hosts.empty() && has_unused) return usage_error(file + ": all hosts have 0 slots");
  if (hosts.empty())
    return usage_error(file + ": has no host; " + std::string(kForms) + " on a line");
  return hosts;
}

}  // namespace paceline::launcher
