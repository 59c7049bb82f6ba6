#include "telemetry/job/link_account.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace paceline {
namespace {

constexpr double kLeastBusy = 0.1;
// A slow link has at most so much of the usual rate.
constexpr double kSlow = 0.6;
// Links that carried much less than another are not judged: the short messages in the direction
// opposite to the data never reach the rate of a link.
constexpr double kComparable = 0.25;
constexpr double kWorthSaying = 0.005;  // of the bytes

// Longer ones are no addresses.
constexpr std::size_t kLongestAddress = 45;

// The median of all values but one; `sorted` holds them all.
double median_without(const std::vector<double>& sorted, double value) {
  if (sorted.size() < 2) return 0;
  const auto at =
      static_cast<std::size_t>(std::ranges::lower_bound(sorted, value) - sorted.begin());
  const std::size_t middle = (sorted.size() - 1) / 2;
  return sorted[middle < at ? middle : middle + 1];
}

// "48 Mbit/s", "1.9 Gbit/s"
std::string rate_text(double bytes_per_s) {
  const double mbit = 8e-6 * bytes_per_s;
  char text[64];
  std::snprintf(text, sizeof text, mbit < 1000 ? "%.0f Mbit/s" : "%.1f Gbit/s",
                mbit < 1000 ? mbit : mbit / 1000);
  return text;
}

}  // namespace

void LinkAccount::begin(std::vector<std::string> hosts) {
  hosts_ = std::move(hosts);
  readings_.assign(hosts_.size(), {});
}

void LinkAccount::take(std::size_t host, std::vector<LinkReading> readings) {
  if (host >= readings_.size()) return;
  std::erase_if(readings, [](const LinkReading& one) {
    return std::max(one.from.size(), one.to.size()) > kLongestAddress;
  });
  if (readings.size() > kMostReadings) readings.resize(kMostReadings);
  readings_[host] = std::move(readings);
}

std::vector<LinkSummary> LinkAccount::links() const {
  std::map<std::string_view, std::size_t> owners;  // of addresses; the first host that claims one
  for (std::size_t host = 0; host < readings_.size(); ++host)
    for (const LinkReading& one : readings_[host]) owners.emplace(one.from, host);
  std::map<std::pair<std::size_t, std::size_t>, LinkSummary> found;
  for (std::size_t from = 0; from < readings_.size(); ++from)
    for (const LinkReading& one : readings_[from]) {
      const auto owner = owners.find(one.to);
      if (owner == owners.end() || owner->second == from) continue;
      LinkSummary& link = found[{from, owner->second}];
      link.from = hosts_[from];
      link.to = hosts_[owner->second];
      link.bytes += one.bytes;
      link.resent_bytes += one.resent_bytes;
      link.busy_seconds =
          std::max(link.busy_seconds, std::chrono::duration<double>(one.busy).count());
      link.unanswered_seconds =
          std::max(link.unanswered_seconds, std::chrono::duration<double>(one.unanswered).count());
    }
  std::vector<LinkSummary> links;
  for (auto& [hosts, link] : found) links.push_back(std::move(link));
  std::ranges::stable_sort(links, std::greater<>(), &LinkSummary::busy_seconds);
  return links;
}

std::vector<SlowLink> find_slow_links(const std::vector<LinkSummary>& links, double seconds,
                                      const std::set<std::string>& late_readers) {
  std::uint64_t most = 0;
  for (const LinkSummary& link : links) most = std::max(most, link.bytes);
  std::vector<LinkSummary> judged;
  for (const LinkSummary& link : links)
    if (link.rate() > 0 &&
        static_cast<double>(link.bytes) >= kComparable * static_cast<double>(most))
      judged.push_back(link);
  std::vector<double> rates;
  for (const LinkSummary& link : judged) rates.push_back(link.rate());
  std::ranges::sort(rates);
  std::vector<SlowLink> slow;
  for (const LinkSummary& link : judged) {
    if (link.busy_seconds < kLeastBusy * seconds) continue;
    const double usual = median_without(rates, link.rate());
    if (link.rate() <= kSlow * usual) slow.push_back({.link = link, .usual = usual});
  }
  std::ranges::stable_sort(slow, {}, [](const SlowLink& one) { return one.link.rate(); });
  // The acknowledgements of data for a host wait behind what the host sends.
  std::vector<SlowLink> causes;
  std::set<std::string> senders;
  for (SlowLink& one : slow) {
    if (senders.contains(one.link.to)) continue;
    senders.insert(one.link.from);
    if (late_readers.contains(one.link.to)) continue;
    causes.push_back(std::move(one));
  }
  return causes;
}

std::string words_of(const std::vector<SlowLink>& slow) {
  if (slow.empty()) return "";
  const auto& [link, usual] = slow.front();
  std::string text = "slow link " + link.from + " to " + link.to + ": " + rate_text(link.rate()) +
                     ", others " + rate_text(usual);
  const double resent = static_cast<double>(link.resent_bytes) / static_cast<double>(link.bytes);
  if (resent >= kWorthSaying)
    text += ", " + std::to_string(std::lround(100 * resent)) + " % sent again";
  if (const std::size_t more = slow.size() - 1; more > 0)
    text += "; " + std::to_string(more) + (more == 1 ? " more slow link" : " more slow links");
  return text;
}

}  // namespace paceline
