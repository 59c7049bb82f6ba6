#include "launcher/connectivity/pair_faults.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "comm/base/text.h"

namespace paceline::launcher {
namespace {

using messages::TrialEnd;

constexpr std::size_t kMostCulprits = 4;

bool is_long_lost(TrialEnd end) {
  return end == messages::LONG_LOST || end == messages::LONG_LOST_THERE ||
         end == messages::LONG_LOST_BACK;
}

std::string_view word_of(TrialEnd end) {
  if (is_long_lost(end)) return "MTU";
  switch (end) {
    case messages::REACHED:
      return "ok";
    case messages::NO_ANSWER:
      return "no answer";
    case messages::REFUSED:
      return "refused";
    case messages::NO_WAY:
      return "no route";
    case messages::OTHER_HOST:
      return "other host";
    case messages::SILENT:
      return "silent";
    default:
      return "?";
  }
}

// Host by host: how often it sends and gets what is lost.
struct Part {
  std::size_t sends = 0;
  std::size_t gets = 0;
};

Part part_of(const std::vector<LossyWay>& ways, std::size_t host) {
  Part part;
  for (const LossyWay& way : ways) {
    part.sends += way.from == host ? 1 : 0;
    part.gets += way.to == host ? 1 : 0;
  }
  return part;
}

class Description {
 public:
  Description(const PairTable& table, const std::vector<std::string>& hosts)
      : table_(table),
        hosts_(hosts),
        rail_(table.nearest()),
        ways_(lossy_ways(table, rail_)),
        culprits_(hosts_to_look_at(ways_)) {}

  std::string text() const {
    std::string all = std::string("not all hosts can exchange data over ")
                          .append(describe(table_.rails()[rail_]))
                          .append("; ")
                          .append(where_to_look())
                          .append("\n")
                          .append(matrix());
    for (const std::string& line : explanations()) all.append("\n  ").append(line);
    return all;
  }

 private:
  std::string name(std::size_t host) const { return hosts_[host]; }

  std::string where_to_look() const {
    if (culprits_.size() == 1) {
      const Part part = part_of(ways_, culprits_.front());
      return std::string("look at host ")
          .append(name(culprits_.front()))
          .append(part.gets == 0    ? ": data that it sends does not arrive"
                  : part.sends == 0 ? ": data that others send to it does not arrive"
                                    : ": all failures are from it or to it");
    }
    std::vector<std::string> names;
    for (const std::size_t host : culprits_) names.push_back(name(host));
    const bool more = names.size() > kMostCulprits;
    if (more) names.resize(kMostCulprits);
    return std::string("look at hosts ").append(list_text(names)).append(more ? " first" : "");
  }

  // Those that have to do with what fails, and others as far as there is room.
  std::vector<std::size_t> shown() const {
    std::vector<std::size_t> all(culprits_.begin(), culprits_.end());
    const auto add = [&all](std::size_t host) {
      if (std::find(all.begin(), all.end(), host) == all.end()) all.push_back(host);
    };
    for (const LossyWay& way : ways_) {
      add(way.from);
      add(way.to);
    }
    for (std::size_t host = 0; host < hosts_.size(); ++host) add(host);
    all.resize(std::min(all.size(), kMaxMatrixHosts));
    std::sort(all.begin(), all.end());
    return all;
  }

  std::string cell(std::size_t from, std::size_t to) const {
    return from == to ? "-" : std::string(word_of(table_.end(rail_, from, to)));
  }

  std::string matrix() const {
    const std::vector<std::size_t> hosts = shown();
    std::vector<std::vector<std::string>> rows{{"from \\ to"}};
    for (const std::size_t to : hosts) rows.front().push_back(name(to));
    for (const std::size_t from : hosts) {
      rows.push_back({name(from)});
      for (const std::size_t to : hosts) rows.back().push_back(cell(from, to));
    }
    std::string text;
    for (const auto& row : rows) {
      std::string line = " ";
      for (std::size_t i = 0; i < row.size(); ++i) {
        std::size_t width = 0;
        for (const auto& other : rows) width = std::max(width, other[i].size());
        line.append(" ").append(row[i]).append(i + 1 < row.size() ? width - row[i].size() + 1 : 0,
                                               ' ');
      }
      text.append(text.empty() ? "" : "\n").append(line);
    }
    const std::size_t left_out = hosts_.size() - hosts.size();
    return left_out == 0 ? text
                         : text.append("\n  and ").append(std::to_string(left_out)).append(" more");
  }

  // The ways of each kind, "h2 to h3", a few of them.
  std::string some_ways(TrialEnd how) const {
    constexpr std::size_t kMost = 3;
    std::vector<std::string> names;
    for (const LossyWay& way : ways_)
      if (way.how == how || (is_long_lost(way.how) && is_long_lost(how)))
        names.push_back(name(way.from) + " to " + name(way.to));
    return list_text(names, kMost).append(names.size() > kMost ? " links" : "");
  }

  int mtu() const {
    int least = 0;
    for (const HostInterface& end : table_.rails()[rail_].ends)
      least = least == 0 ? end.mtu : std::min(least, end.mtu);
    return least;
  }

  std::vector<std::string> explanations() const {
    std::set<TrialEnd> kinds;
    for (const LossyWay& way : ways_)
      kinds.insert(is_long_lost(way.how) ? messages::LONG_LOST : way.how);
    std::vector<std::string> lines;
    for (const TrialEnd kind : kinds) {
      const std::string text = explain(kind);
      if (!text.empty()) lines.push_back(std::string(word_of(kind)).append(": ").append(text));
    }
    return lines;
  }

  std::string explain(TrialEnd kind) const {
    switch (kind) {
      case messages::NO_ANSWER:
        return "packets are dropped without an error from " + some_ways(kind) +
               "; check firewalls on these hosts and between them, and links";
      case messages::REFUSED:
        return "a firewall rejects connections from " + some_ways(kind);
      case messages::NO_WAY:
        return "no route is known from " + some_ways(kind) + "; check `ip route` there";
      case messages::OTHER_HOST:
        return "another machine has the address, from " + some_ways(kind);
      case messages::SILENT:
        return "connections open, but later data is lost, from " + some_ways(kind);
      case messages::LONG_LOST:
        return "short packets pass, but packets of " + std::to_string(mtu()) +
               " bytes are lost, from " + some_ways(kind) +
               ". A device on the path has a smaller MTU and does not report it; set this MTU on "
               "the interfaces (`ip link set DEVICE mtu N`), or fix the device";
      case messages::PENDING:
        return "no report came in time; data between the head and this host is lost";
      default:
        return "";
    }
  }

  const PairTable& table_;
  const std::vector<std::string>& hosts_;
  const std::size_t rail_;
  const std::vector<LossyWay> ways_;
  const std::vector<std::size_t> culprits_;
};

std::int64_t speed_mbits(const Rail& rail) {
  std::int64_t slowest = INT64_MAX;
  for (const HostInterface& end : rail.ends) slowest = std::min(slowest, end.speed_mbits);
  return slowest;
}

// "h1 to h2: no answer": the first of those that do not come through.
std::string first_failure(const PairTable& table, std::size_t rail,
                          const std::vector<std::string>& hosts) {
  for (std::size_t from = 0; from < hosts.size(); ++from) {
    for (std::size_t to = 0; to < hosts.size(); ++to) {
      const TrialEnd end = from == to ? messages::REACHED : table.end(rail, from, to);
      if (end == messages::REACHED) continue;
      const std::string_view word = end == messages::PENDING ? "no answer yet" : word_of(end);
      return std::string(hosts[from]).append(" to ").append(hosts[to]).append(": ").append(word);
    }
  }
  return "";
}

}  // namespace

std::vector<std::string> passed_over(const PairTable& table, std::size_t chosen,
                                     const std::vector<std::string>& hosts) {
  std::vector<std::string> sentences;
  const std::int64_t used = speed_mbits(table.rails()[chosen]);
  for (std::size_t rail = 0; rail < chosen; ++rail) {
    const std::int64_t speed = speed_mbits(table.rails()[rail]);
    if (speed <= used) continue;
    sentences.push_back(
        std::string(describe(table.rails()[rail]))
            .append(", of ")
            .append(std::to_string(speed))
            .append(" Mbit/s, is not used, because not all hosts reach each other there (")
            .append(first_failure(table, rail, hosts))
            .append("); the job uses ")
            .append(describe(table.rails()[chosen])));
  }
  return sentences;
}

std::vector<LossyWay> lossy_ways(const PairTable& table, std::size_t rail) {
  std::vector<LossyWay> ways;
  std::set<std::pair<std::size_t, std::size_t>> known;
  const auto add = [&](const LossyWay& way) {
    if (known.insert({way.from, way.to}).second) ways.push_back(way);
  };
  const std::size_t hosts = table.rails()[rail].ends.size();
  for (std::size_t from = 0; from < hosts; ++from) {
    for (std::size_t to = 0; to < hosts; ++to) {
      const TrialEnd end = from == to ? messages::REACHED : table.end(rail, from, to);
      if (end == messages::REACHED) continue;
      const bool answer_lost =
          end == messages::LONG_LOST_BACK || table.is_half_open(rail, from, to);
      if (answer_lost)
        add({.from = to, .to = from, .how = end});
      else
        add({.from = from, .to = to, .how = end});
      if (end == messages::LONG_LOST) add({.from = to, .to = from, .how = end});
    }
  }
  return ways;
}

std::string describe_faults(const PairTable& table, const std::vector<std::string>& hosts) {
  return Description(table, hosts).text();
}

std::vector<FaultyHost> faulty_hosts(const PairTable& table,
                                     const std::vector<std::string>& hosts) {
  std::vector<LossyWay> ways = lossy_ways(table, table.nearest());
  std::vector<FaultyHost> faulty;
  const std::vector<std::size_t> culprits = hosts_to_look_at(ways);
  for (std::size_t i = 0; !ways.empty(); ++i) {
    const Part next = i + 1 < culprits.size() ? part_of(ways, culprits[i + 1]) : Part();
    const bool are_alike = next.sends + next.gets == ways.size();
    const std::size_t host = culprits[are_alike ? i + 1 : i];
    const Part part = part_of(ways, host);
    const auto first = std::ranges::find_if(
        ways, [host](const LossyWay& way) { return way.from == host || way.to == host; });
    const std::size_t other = first->from == host ? first->to : first->from;
    const std::string_view whose = part.gets == 0    ? "data that it sends does not arrive"
                                   : part.sends == 0 ? "data that is sent to it does not arrive"
                                                     : "data from and to it does not arrive";
    faulty.push_back({.host = host,
                      .why = std::string(whose)
                                 .append(" (")
                                 .append(word_of(first->how))
                                 .append(", for example with ")
                                 .append(hosts[other])
                                 .append(")"),
                      .or_host = are_alike ? std::optional(culprits[i]) : std::nullopt});
    std::erase_if(ways, [host](const LossyWay& way) { return way.from == host || way.to == host; });
  }
  return faulty;
}

std::vector<std::size_t> hosts_to_look_at(std::vector<LossyWay> ways) {
  std::vector<std::size_t> culprits;
  while (!ways.empty()) {
    std::map<std::size_t, std::size_t> parts;
    for (const LossyWay& way : ways) {
      ++parts[way.from];
      ++parts[way.to];
    }
    const auto most =
        std::max_element(parts.begin(), parts.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    // Of two that have all in common either may be the reason.
    const std::size_t host = most->first;
    for (const auto& [other, count] : parts)
      if (count == most->second && (other == host || count == ways.size()))
        culprits.push_back(other);
    std::erase_if(ways, [&culprits](const LossyWay& way) {
      const auto is_culprit = [&](std::size_t one) {
        return std::find(culprits.begin(), culprits.end(), one) != culprits.end();
      };
      return is_culprit(way.from) || is_culprit(way.to);
    });
  }
  return culprits;
}

}  // namespace paceline::launcher
