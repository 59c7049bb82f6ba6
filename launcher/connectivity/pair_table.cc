#include "launcher/connectivity/pair_table.h"

#include <algorithm>

namespace paceline::launcher {

PairTable::PairTable(std::vector<Rail> rails) : rails_(std::move(rails)), counts_(rails_.size()) {
  own_ends_.resize(hosts());
  std::map<std::pair<std::size_t, IpAddress>, std::size_t> places;
  for (std::size_t rail = 0; rail < rails_.size(); ++rail) {
    rail_ends_.emplace_back();
    for (std::size_t host = 0; host < hosts(); ++host) {
      const HostInterface& interface = rails_[rail].ends[host];
      const auto [place, is_new] = places.try_emplace({host, interface.address}, ends_.size());
      if (is_new) {
        own_ends_[host].push_back(ends_.size());
        ends_.push_back({.host = host, .interface = interface, .wave = rail});
      }
      rail_ends_[rail].push_back(place->second);
    }
  }
  trials_.assign(hosts(), std::vector<messages::TrialEnd>(ends_.size(), messages::PENDING));
}

std::vector<PairTable::Target> PairTable::targets_of(std::size_t host) const {
  std::vector<Target> targets;
  for (const End& end : ends_) {
    if (end.host != host)
      targets.push_back({.host = end.host, .address = end.interface.address, .wave = end.wave});
  }
  return targets;
}

// The place in ends_; their number where there is no such target. A host's own ends are no targets.
std::size_t PairTable::target_end(std::size_t from, std::size_t target) const {
  if (target >= ends_.size()) return ends_.size();
  for (const std::size_t own : own_ends_[from])
    if (own <= target) ++target;
  return target;
}

Status PairTable::note(std::size_t from, std::size_t target, messages::TrialEnd how) {
  const std::size_t place = target_end(from, target);
  const bool is_end = messages::TrialEnd_IsValid(how) && how != messages::PENDING;
  if (place == ends_.size() || !is_end || trials_[from][place] != messages::PENDING)
    return Status(Code::kInternal, Scope::kPeer,
                  "its agent reported a test that it was not asked for");
  trials_[from][place] = how;
  const std::size_t good = how == messages::REACHED ? 1 : 0;
  End& end = ends_[place];
  end.good += good;
  for (std::size_t rail = 0; rail < rails_.size(); ++rail) {
    if (rail_ends_[rail][end.host] != place) continue;
    counts_[rail].good += good;
    ++counts_[rail].ended;
  }
  return Status();
}

bool PairTable::is_good(std::size_t rail) const { return counts_[rail].good == pairs(); }

bool PairTable::is_settled(std::size_t rail) const { return counts_[rail].ended == pairs(); }

std::optional<std::size_t> PairTable::best() const {
  for (std::size_t rail = 0; rail < rails_.size(); ++rail)
    if (is_good(rail)) return rail;
  return std::nullopt;
}

std::optional<Rail> PairTable::mixed() const {
  Rail mixed;
  for (std::size_t host = 0; host < hosts(); ++host) {
    const auto found = std::find_if(ends_.begin(), ends_.end(), [&](const End& end) {
      return end.host == host && end.good == hosts() - 1;
    });
    if (found == ends_.end()) return std::nullopt;
    mixed.ends.push_back(found->interface);
  }
  return mixed;
}

std::size_t PairTable::nearest() const {
  const auto most =
      std::max_element(counts_.begin(), counts_.end(),
                       [](const Count& a, const Count& b) { return a.good < b.good; });
  return static_cast<std::size_t>(most - counts_.begin());
}

messages::TrialEnd PairTable::end(std::size_t rail, std::size_t from, std::size_t to) const {
  return trials_[from][rail_ends_[rail][to]];
}

// Whatever address of its own a host tries from.
bool PairTable::is_half_open(std::size_t rail, std::size_t from, std::size_t to) const {
  const bool knocked = std::any_of(ends_.begin(), ends_.end(), [&](const End& end) {
    return end.host == from && half_open_.contains({to, end.interface.address});
  });
  return knocked && end(rail, from, to) == messages::NO_ANSWER;
}

}  // namespace paceline::launcher
