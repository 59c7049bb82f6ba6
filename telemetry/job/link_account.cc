#include "telemetry/job/link_account.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>

namespace paceline {
namespace {

constexpr double kLeastBusy = 0.1;
// A slow link has at most so much of the usual rate.
constexpr double kSlow = 0.6;
// Links that carried much less than another are not judged: the short messages in the direction
// opposite to the data never reach the rate of a link.
constexpr double kComparable = 0.25;
constexpr double kWorthSaying = 0.005;  // of the bytes

// 0: there are none.
double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
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
  owners_.clear();
}

void LinkAccount::take(std::size_t host, std::vector<LinkReading> readings) {
  for (const LinkReading& one : readings) owners_[one.from] = host;
  readings_[host] = std::move(readings);
}

std::vector<LinkSummary> LinkAccount::links() const {
  std::map<std::pair<std::size_t, std::size_t>, LinkSummary> found;
  for (std::size_t from = 0; from < readings_.size(); ++from)
    for (const LinkReading& one : readings_[from]) {
      const auto owner = owners_.find(one.to);
      if (owner == owners_.end() || owner->second == from) continue;
      LinkSummary& link = found[{from, owner->second}];
      link.from = hosts_[from];
      link.to = hosts_[owner->second];
      link.bytes += one.bytes;
      link.resent_bytes += one.resent_bytes;
      link.busy_seconds =
          std::max(link.busy_seconds, std::chrono::duration<double>(one.busy).count());
    }
  std::vector<LinkSummary> links;
  for (auto& [hosts, link] : found) links.push_back(std::move(link));
  std::ranges::stable_sort(links, std::greater<>(), &LinkSummary::busy_seconds);
  return links;
}

std::vector<SlowLink> find_slow_links(const std::vector<LinkSummary>& links, double seconds) {
  std::uint64_t most = 0;
  for (const LinkSummary& link : links) most = std::max(most, link.bytes);
  std::vector<LinkSummary> judged;
  for (const LinkSummary& link : links)
    if (link.rate() > 0 &&
        static_cast<double>(link.bytes) >= kComparable * static_cast<double>(most))
      judged.push_back(link);
  std::vector<SlowLink> slow;
  for (const LinkSummary& link : judged) {
    if (link.busy_seconds < kLeastBusy * seconds) continue;
    std::vector<double> others;
    for (const LinkSummary& other : judged)
      if (&other != &link) others.push_back(other.rate());
    const double usual = median(std::move(others));
    if (link.rate() <= kSlow * usual) slow.push_back({.link = link, .usual = usual});
  }
  std::ranges::stable_sort(slow, {}, [](const SlowLink& one) { return one.link.rate(); });
  // The acknowledgements of data for a host wait behind what the host sends.
  std::vector<SlowLink> causes;
  for (const SlowLink& one : slow) {
    const bool is_effect = std::ranges::any_of(
        causes, [&one](const SlowLink& slower) { return slower.link.from == one.link.to; });
    if (!is_effect) causes.push_back(one);
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
