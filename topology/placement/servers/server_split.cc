#include "topology/placement/servers/server_split.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>

namespace paceline::topology {
namespace {

constexpr int kBisections = 100;

// What share a site can have if all must be done by some time.
struct Bounds {
  double least = 0, most = 0;
};

class Splitter {
 public:
  Splitter(const std::vector<ServerSite>& sites, int servers)
      : sites_(sites), servers_(static_cast<std::size_t>(servers)) {
    for (const ServerSite& site : sites) pushes_ += site.push_mb;
  }

  ServerSplit split() {
    double high = 0, low = 0;
    for (const ServerSite& site : sites_)
      high = std::max(high,
                      std::max(site.us_per_mb, site.served_us_per_mb) * (site.push_mb + pushes_));
    for (int i = 0; i < kBisections; ++i) {
      const double middle = (low + high) / 2;
      (shares_within(middle) ? high : low) = middle;
    }
    std::vector<double> shares = shares_within(high).value_or(first_alone());
    return {.shares = std::move(shares), .us = high};
  }

 private:
  std::optional<Bounds> bounds(const ServerSite& site, double us) const {
    const double carried = us / std::max(site.us_per_mb, 1e-12);
    const double others = pushes_ - 2 * site.push_mb;  // more of them with each share more
    if (!site.may_serve) return site.push_mb <= carried ? std::optional(Bounds{}) : std::nullopt;
    Bounds bounds{.least = 0, .most = 1};
    if (others > 0) bounds.most = std::min(1.0, (carried - site.push_mb) / others);
    if (const double served = site.served_us_per_mb * (pushes_ - site.push_mb); served > 0)
      bounds.most = std::min(bounds.most, us / served);
    if (others < 0) bounds.least = std::max(0.0, (site.push_mb - carried) / -others);
    const bool fits = others == 0 ? site.push_mb <= carried : bounds.most >= 0;
    return fits && bounds.least <= bounds.most ? std::optional(bounds) : std::nullopt;
  }

  // Of the sites those that can carry the most serve, and who has to.
  std::optional<std::vector<double>> shares_within(double us) const {
    std::vector<Bounds> all;
    for (const ServerSite& site : sites_) {
      const std::optional<Bounds> one = bounds(site, us);
      if (!one) return {};
      all.push_back(*one);
    }
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < sites_.size(); ++i)
      if (sites_[i].may_serve) chosen.push_back(i);
    std::ranges::stable_sort(chosen, [&](std::size_t a, std::size_t b) {
      if ((all[a].least > 0) != (all[b].least > 0)) return all[a].least > 0;
      return all[a].most > all[b].most;
    });
    chosen.resize(std::min(chosen.size(), servers_));
    return fill(all, chosen);
  }

  std::optional<std::vector<double>> fill(const std::vector<Bounds>& all,
                                          const std::vector<std::size_t>& chosen) const {
    double least = 0, most = 0;
    for (const std::size_t i : chosen) {
      least += all[i].least;
      most += all[i].most;
    }
    if (least > 1 || most < 1) return {};
    std::vector<double> shares(sites_.size());
    for (const std::size_t i : chosen) shares[i] = all[i].least;
    double left = 1 - least;
    // Where there is a choice, hosts without ranks come first.
    for (const bool has_ranks : {false, true}) {
      double room = 0;
      for (const std::size_t i : chosen)
        if ((sites_[i].push_mb > 0) == has_ranks) room += all[i].most - all[i].least;
      const double part = room > 0 ? std::min(1.0, left / room) : 0;
      for (const std::size_t i : chosen)
        if ((sites_[i].push_mb > 0) == has_ranks) shares[i] += part * (all[i].most - all[i].least);
      left -= part * room;
    }
    return shares;
  }

  // What always goes; only rounding could ask for it.
  std::vector<double> first_alone() const {
    std::vector<double> shares(sites_.size());
    const auto first = std::ranges::find(sites_, true, &ServerSite::may_serve);
    shares[static_cast<std::size_t>(first - sites_.begin())] = 1;
    return shares;
  }

  const std::vector<ServerSite>& sites_;
  const std::size_t servers_;
  double pushes_ = 0;
};

}  // namespace

ServerSplit split_servers(const std::vector<ServerSite>& sites, int servers) {
  return Splitter(sites, servers).split();
}

}  // namespace paceline::topology
