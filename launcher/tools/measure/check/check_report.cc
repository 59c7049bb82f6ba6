#include "launcher/tools/measure/check/check_report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "comm/base/text.h"
#include "launcher/tools/measure/check/rate_table.h"
#include "launcher/tools/measure/text_format.h"

namespace paceline::launcher {
namespace {

using probe::Measurements;

constexpr std::size_t kHostsOnALine = 16;
constexpr std::size_t kLongestName = 16;
constexpr double kBusFactorOfAllReduce = 2;

// In a column, however long it is.
std::string short_name(const std::string& name) {
  const std::string shown = printable(name);
  return shown.size() <= kLongestName ? shown : shown.substr(0, kLongestName - 2).append("..");
}

std::string counted(std::size_t count, const char* what) {
  return text("%zu %s%s", count, what, count == 1 ? "" : "s");
}

// The same thing found on several hosts.
struct Group {
  const Finding* finding;
  std::vector<std::string> hosts;
};

std::vector<Group> grouped(const std::vector<Finding>& findings, bool all) {
  std::vector<Group> groups;
  for (const Finding& one : findings) {
    if (one.fine && !all) continue;
    const auto same = std::find_if(groups.begin(), groups.end(), [&one](const Group& group) {
      return group.finding->what == one.what && group.finding->found == one.found &&
             group.finding->expected == one.expected;
    });
    if (same != groups.end()) {
      same->hosts.push_back(one.host);
    } else {
      groups.push_back({&one, {one.host}});
    }
  }
  return groups;
}

std::string hosts_of(const Group& group, std::size_t all) {
  constexpr std::size_t kNamed = 3;
  if (group.hosts.size() == all && all > 1) return "all";
  std::string names;
  for (std::size_t i = 0; i < std::min(kNamed, group.hosts.size()); ++i)
    names.append(i == 0 ? "" : ",").append(short_name(group.hosts[i]));
  return group.hosts.size() > kNamed ? names + text(" +%zu", group.hosts.size() - kNamed) : names;
}

// A square of numbers, from the host of a row to that of a column.
template <class Value>
std::string matrix(const std::vector<std::string>& hosts, Value value) {
  std::size_t width = 6;
  for (const std::string& host : hosts) width = std::max(width, short_name(host).size());
  const int column = static_cast<int>(width);
  std::string lines = text("  %-*s", column, "");
  for (const std::string& host : hosts) lines += text(" %*s", column, short_name(host).c_str());
  lines += '\n';
  for (std::size_t from = 0; from < hosts.size(); ++from) {
    lines += text("  %-*s", column, short_name(hosts[from]).c_str());
    for (std::size_t to = 0; to < hosts.size(); ++to) {
      const std::optional<double> number =
          from == to ? std::nullopt : value(static_cast<int>(from), static_cast<int>(to));
      const std::string shown = number ? text("%.*f",
                                              *number < 10     ? 2
                                              : *number < 1000 ? 1
                                                               : 0,
                                              *number)
                                       : "-";
      lines += text(" %*s", column, shown.c_str());
    }
    lines += '\n';
  }
  return lines;
}

std::map<std::pair<int, int>, double> latencies_of(const Measurements& measured) {
  std::map<std::pair<int, int>, double> best;
  for (const probe::Latency& one : measured.latencies)
    for (const auto& way : {std::pair(one.from, one.to), std::pair(one.to, one.from)}) {
      const auto [known, is_new] = best.emplace(way, one.best_us);
      if (!is_new) known->second = std::min(known->second, one.best_us);
    }
  return best;
}

std::string matrices(const Measurements& measured, const RateTable& rates) {
  const bool giga = rates.expected() >= 1e9;
  const auto latencies = latencies_of(measured);
  std::string lines =
      text("bandwidth, %s of data, from the host of the row\n", giga ? "Gbit/s" : "Mbit/s");
  lines += matrix(measured.hosts, [&](int from, int to) -> std::optional<double> {
    const probe::Flow* const flow = rates.flow(from, to);
    if (flow == nullptr) return std::nullopt;
    return flow->bits_per_s / (giga ? 1e9 : 1e6);
  });
  lines += "latency, us: half a round trip, the best\n";
  return lines + matrix(measured.hosts, [&](int from, int to) -> std::optional<double> {
           const auto found = latencies.find({from, to});
           if (found == latencies.end()) return std::nullopt;
           return found->second;
         });
}

std::string extremes(const Measurements& measured, const RateTable& rates) {
  const auto flows = rates.all();
  const auto slower = [](const probe::Flow* left, const probe::Flow* right) {
    return left->bits_per_s < right->bits_per_s;
  };
  const auto [slowest, fastest] = std::minmax_element(flows.begin(), flows.end(), slower);
  const auto way = [&](const probe::Flow& flow) {
    return text("%s from %s to %s", rate_text(flow.bits_per_s).c_str(),
                short_name(measured.hosts[static_cast<std::size_t>(flow.from)]).c_str(),
                short_name(measured.hosts[static_cast<std::size_t>(flow.to)]).c_str());
  };
  return text("bandwidth of %zu flows: %s; slowest %s", flows.size(), way(**fastest).c_str(),
              way(**slowest).c_str()) +
         "\n";
}

}  // namespace

std::string findings_text(const std::vector<Finding>& findings, std::size_t hosts, bool all) {
  const auto fine = static_cast<std::size_t>(
      std::count_if(findings.begin(), findings.end(), [](const Finding& one) { return one.fine; }));
  std::string lines =
      text("hosts: %zu of %s fine", fine, counted(findings.size(), "setting").c_str());
  const std::vector<Group> groups = grouped(findings, all);
  if (groups.empty()) return lines + "\n";
  lines += '\n';
  lines += text("  %-16s %-15s %-20s %s\n", "host", "what", "found", "expected");
  for (const Group& group : groups) {
    const Finding& one = *group.finding;
    lines += text("  %-16s %-15s %-20s %s\n", hosts_of(group, hosts).c_str(), one.what.c_str(),
                  printable(one.found).c_str(), printable(one.expected).c_str());
    if (one.fine) continue;
    lines += text("  %-16s why: %s\n", "", one.why.c_str());
    lines += text("  %-16s do:  %s\n", "", one.advice.c_str());
  }
  return lines;
}

std::string links_text(const Measurements& measured) {
  const RateTable rates(measured, false);
  if (rates.all().empty()) return "";
  return measured.hosts.size() <= kHostsOnALine ? matrices(measured, rates)
                                                : extremes(measured, rates);
}

std::string reductions_text(const Measurements& measured) {
  if (measured.reductions.empty()) return "";
  std::string lines =
      text("all-reduce\n%7s %11s %10s %8s %6s %10s %8s %8s %7s %10s\n", "hosts", "size", "count",
           "type", "redop", "time", "algbw", "busbw", "#wrong", "wire");
  lines += text("%7s %11s %10s %8s %6s %10s %8s %8s %7s %10s\n", "", "(B)", "", "", "", "(us)",
                "(GB/s)", "(GB/s)", "", "(Gbit/s)");
  for (const probe::Reduction& one : measured.reductions) {
    const double algbw =
        one.time_us > 0 ? static_cast<double>(one.bytes) / (1000 * one.time_us) : 0;
    const double busbw = algbw * kBusFactorOfAllReduce * (one.hosts - 1) / one.hosts;
    lines += text("%7d %11llu %10llu %8s %6s %10.1f %8.4f %8.4f %7lld %10.4f\n", one.hosts,
                  static_cast<unsigned long long>(one.bytes),
                  static_cast<unsigned long long>(one.bytes / sizeof(float)), "float32", "sum",
                  one.time_us, algbw, busbw, static_cast<long long>(one.wrong),
                  one.wire_bits_per_s / 1e9);
  }
  return lines;
}

std::string verdict_text(const Measurements& measured, const Verdict& verdict) {
  std::string lines;
  for (const std::string& note : measured.notes)
    lines.append("note: ").append(printable(note)).append("\n");
  lines += text("verdict: %s", std::string(name(verdict.state)).c_str());
  if (verdict.expected_bits_per_s > 0)
    lines += text(", links reach %s (median; spread %.1f %%)",
                  rate_text(verdict.expected_bits_per_s).c_str(), 100 * verdict.spread);
  if (measured.hosts.size() == 1) lines += ", one host has no links";
  lines += '\n';
  for (const Blame& blame : verdict.blames) {
    lines.append("  ")
        .append(printable(subject_of(blame, measured.hosts)))
        .append(": ")
        .append(name(blame.fault));
    if (blame.found_bits_per_s > 0) lines.append(", ").append(rate_text(blame.found_bits_per_s));
    if (!blame.evidence.empty()) lines.append("; ").append(printable(blame.evidence));
    lines += '\n';
  }
  for (const std::string& reason : verdict.reasons) lines.append("  ").append(reason).append("\n");
  return lines;
}

}  // namespace paceline::launcher
