#include "topology/placement/host/nic_choice.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>

#include "topology/path/path.h"
#include "topology/placement/host/assignment.h"

namespace paceline::topology {
namespace {

// What a NIC carries whose rate nobody has told: a guess that all of them share.
constexpr std::uint64_t kUnknownRateMbit = 10000;
// Of more ranks as many consecutive ones go by one choice: it takes their number to the third.
constexpr std::size_t kMostGroups = 64;

double us_per_mb(std::uint64_t mb_per_s) { return 1e6 / static_cast<double>(mb_per_s); }

double us_per_mb_of(const Nic& nic) {
  const std::uint64_t mbit = nic.rate_mbit.value.value_or(kUnknownRateMbit);
  return us_per_mb(std::max<std::uint64_t>(mbit / 8, 1));
}

Path path_of(const HostModel& host, const DataPlace& from, int nic) {
  const DeviceRef device{DeviceKind::kNic, nic};
  if (from.gpu != kNone) return path_between(host, {DeviceKind::kGpu, from.gpu}, device);
  return path_to_node(host, device, from.node);
}

// Every rank's way to every NIC.
struct Ways {
  std::vector<int> nics;                 // the usable ones
  std::vector<std::vector<Path>> paths;  // by rank and NIC
  std::vector<double> nic_us;            // by NIC, of one MB

  double path_us(std::size_t rank, std::size_t nic) const {
    return us_per_mb(std::max<std::uint64_t>(paths[rank][nic].mb_per_s, 1));
  }
};

Ways ways_of(const HostModel& host, const std::vector<DataPlace>& ranks) {
  Ways ways{.nics = usable_nics(host), .paths = {}, .nic_us = {}};
  for (const int nic : ways.nics)
    ways.nic_us.push_back(us_per_mb_of(host.nics[static_cast<std::size_t>(nic)]));
  for (const DataPlace& rank : ranks) {
    ways.paths.emplace_back();
    for (const int nic : ways.nics) ways.paths.back().push_back(path_of(host, rank, nic));
  }
  return ways;
}

// How far a path is, with nothing but its kind; then its order, so that equal ones have one answer.
double farness(const Ways& ways, std::size_t rank, std::size_t nic) {
  constexpr double kOrder = 1e-6;
  return static_cast<double>(ways.paths[rank][nic].kind) + kOrder * static_cast<double>(nic);
}

// The nearest choice of all in which nobody takes longer than `most_us`; nothing where there is
// none.
std::vector<int> nearest_within(const Ways& ways, double most_us) {
  constexpr double kBarelyMore = 1 + 1e-9, kForbidden = 1e9;
  const std::size_t ranks = ways.paths.size();
  std::vector<int> of_column;  // which NIC: one column for each rank that it can carry
  for (std::size_t nic = 0; nic < ways.nics.size(); ++nic) {
    const double carried = most_us * kBarelyMore / ways.nic_us[nic];
    const auto columns = static_cast<std::size_t>(std::min(carried, static_cast<double>(ranks)));
    of_column.insert(of_column.end(), columns, static_cast<int>(nic));
  }
  if (of_column.size() < ranks) return {};
  std::vector<std::vector<double>> costs(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    for (const int column : of_column) {
      const auto nic = static_cast<std::size_t>(column);
      const bool is_slow = ways.path_us(rank, nic) > most_us * kBarelyMore;
      costs[rank].push_back(is_slow ? kForbidden : farness(ways, rank, nic));
    }
  }
  std::vector<int> chosen = cheapest_assignment(costs);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    if (costs[rank][static_cast<std::size_t>(chosen[rank])] >= kForbidden) return {};
    chosen[rank] = of_column[static_cast<std::size_t>(chosen[rank])];
  }
  return chosen;
}

// All times that a choice can take: of a path, or of a NIC with so many ranks.
std::vector<double> possible_times(const Ways& ways) {
  std::vector<double> times;
  for (std::size_t rank = 0; rank < ways.paths.size(); ++rank)
    for (std::size_t nic = 0; nic < ways.nics.size(); ++nic)
      times.push_back(ways.path_us(rank, nic));
  for (const double one : ways.nic_us)
    for (std::size_t ranks = 1; ranks <= ways.paths.size(); ++ranks)
      times.push_back(one * static_cast<double>(ranks));
  std::ranges::sort(times);
  times.erase(std::unique(times.begin(), times.end()), times.end());
  return times;
}

NicChoice choose_for_few(const HostModel& host, const std::vector<DataPlace>& ranks) {
  NicChoice choice;
  const Ways ways = ways_of(host, ranks);
  // The longest time is always enough.
  const std::vector<double> times = possible_times(ways);
  std::size_t low = 0, high = times.size() - 1;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (nearest_within(ways, times[middle]).empty()) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  for (const int chosen : nearest_within(ways, times[low]))
    choice.nics.push_back(ways.nics[static_cast<std::size_t>(chosen)]);
  choice.us_per_mb = times[low];
  return choice;
}

}  // namespace

std::vector<int> usable_nics(const HostModel& host) {
  std::vector<int> all, with_rdma;
  for (std::size_t i = 0; i < host.nics.size(); ++i) {
    const Nic& nic = host.nics[i];
    if (nic.is_up.is_known() && !*nic.is_up) continue;
    all.push_back(static_cast<int>(i));
    if (nic.has_rdma) with_rdma.push_back(static_cast<int>(i));
  }
  return with_rdma.empty() ? all : with_rdma;
}

NicChoice choose_nics(const HostModel& host, const std::vector<DataPlace>& ranks) {
  NicChoice choice{.nics = std::vector<int>(ranks.size(), kNone)};
  if (usable_nics(host).empty() || ranks.empty()) return choice;
  // Which of several equal choices it is does not depend on the order of the ranks, but on where
  // their data lies.
  std::vector<std::size_t> sorted(ranks.size());
  std::iota(sorted.begin(), sorted.end(), std::size_t{0});
  std::ranges::stable_sort(
      sorted, {}, [&](std::size_t rank) { return std::pair(ranks[rank].gpu, ranks[rank].node); });
  const std::size_t groups = std::min(ranks.size(), kMostGroups);
  const auto first_of = [&](std::size_t group) { return group * ranks.size() / groups; };
  std::vector<DataPlace> firsts;
  for (std::size_t group = 0; group < groups; ++group)
    firsts.push_back(ranks[sorted[first_of(group)]]);
  const NicChoice of_groups = choose_for_few(host, firsts);
  for (std::size_t group = 0; group < groups; ++group)
    for (std::size_t i = first_of(group); i < first_of(group + 1); ++i)
      choice.nics[sorted[i]] = of_groups.nics[group];
  choice.us_per_mb =
      of_groups.us_per_mb * static_cast<double>(ranks.size()) / static_cast<double>(groups);
  return choice;
}

}  // namespace paceline::topology
