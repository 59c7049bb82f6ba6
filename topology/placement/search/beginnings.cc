#include "topology/placement/search/beginnings.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

namespace paceline::topology {
namespace {

// How many of the hosts that are left are looked at to find the next along fast ways.
constexpr std::size_t kWindow = 64;

struct HostOrder {
  std::string what;
  std::vector<int> hosts;
};

std::vector<int> named_order(const Arranger& arranger) {
  std::vector<int> hosts(arranger.slots().size());
  std::iota(hosts.begin(), hosts.end(), 0);
  return hosts;
}

double slower_way(const HostLinks& links, int host) {
  return std::max(links.host_us_per_mb(host, Direction::kOut),
                  links.host_us_per_mb(host, Direction::kIn));
}

// From each host to the one that it reaches the fastest.
std::vector<int> chain(const HostLinks& links, std::vector<int> left) {
  const auto way_us = [&](int from, int to) {
    const int way = links.way(from, to);
    const double us = way == kNone ? 0 : links.way_us_per_mb(way);
    return std::pair(std::max(us, slower_way(links, to)),
                     way == kNone ? links.latency_us() : links.way_latency_us(way));
  };
  std::vector<int> hosts = {left.front()};
  left.erase(left.begin());
  while (!left.empty()) {
    const auto end = left.begin() + static_cast<std::ptrdiff_t>(std::min(kWindow, left.size()));
    const auto next = std::ranges::min_element(
        left.begin(), end, {}, [&](int host) { return way_us(hosts.back(), host); });
    hosts.push_back(*next);
    left.erase(next);
  }
  return hosts;
}

std::vector<HostOrder> host_orders(const Arranger& arranger) {
  const HostLinks& links = arranger.links();
  const std::vector<int>& slots = arranger.slots();
  const std::vector<int> named = named_order(arranger);
  std::vector<HostOrder> orders = {{"hosts in the order in which they were named", named}};
  std::vector<int> fastest = named, largest = named;
  std::ranges::stable_sort(fastest, {}, [&](int host) { return slower_way(links, host); });
  std::ranges::stable_sort(largest, {}, [&](int host) {
    return std::pair(-slots[static_cast<std::size_t>(host)], slower_way(links, host));
  });
  orders.push_back({"the fastest hosts first", fastest});
  orders.push_back({"the hosts with the most slots first", largest});
  if (links.ways() > 0) {
    orders.push_back(
        {"from the fastest host, each followed by the host with the fastest link from it",
         chain(links, fastest)});
    orders.push_back(
        {"from the first host, each followed by the host with the fastest link from it",
         chain(links, named)});
  }
  return orders;
}

// Whole blocks on each host, at most `most` of them, and what is left where there is room.
std::vector<int> fill(const Arranger& arranger, const std::vector<int>& hosts, int block,
                      int most) {
  std::vector<int> room = arranger.slots();
  std::vector<int> host_of;
  int left = arranger.ranks();
  const auto give = [&](int host, int ranks) {
    const int given = std::min(ranks, left);
    host_of.insert(host_of.end(), static_cast<std::size_t>(given), host);
    room[static_cast<std::size_t>(host)] -= given;
    left -= given;
  };
  for (const int host : hosts)
    give(host, std::min(room[static_cast<std::size_t>(host)] / block, most) * block);
  for (const int host : hosts) give(host, room[static_cast<std::size_t>(host)]);
  return host_of;
}

// How many blocks each of the hosts with room gets if they share them evenly.
int even_share(const Arranger& arranger, int block) {
  const auto with_room =
      std::ranges::count_if(arranger.slots(), [&](int slots) { return slots >= block; });
  const int blocks = (arranger.ranks() + block - 1) / block;
  const int hosts = std::max(static_cast<int>(with_room), 1);
  return (blocks + hosts - 1) / hosts;
}

// All ranks, such that those of a group of this dimension follow one another.
std::vector<int> group_by_group(const Arranger& arranger, std::size_t dimension) {
  const std::vector<Dimension>& dimensions = arranger.job().dimensions;
  int stride = 1;
  for (std::size_t i = 0; i < dimension; ++i) stride *= dimensions[i].size;
  const int size = dimensions[dimension].size;
  std::vector<int> sequence;
  for (int rank = 0; rank < arranger.ranks(); ++rank) {
    if (rank / stride % size != 0) continue;
    for (int i = 0; i < size; ++i) sequence.push_back(rank + i * stride);
  }
  return sequence;
}

}  // namespace

Beginning block_order(const Arranger& arranger) {
  return {.what = "hosts in the order in which they were named",
          .host_of = fill(arranger, named_order(arranger), 1, arranger.ranks())};
}

Beginning round_robin(const Arranger& arranger) {
  std::vector<int> room = arranger.slots();
  Beginning beginning{.what = "ranks on the hosts in turn, one by one", .host_of = {}};
  const auto ranks = static_cast<std::size_t>(arranger.ranks());
  while (beginning.host_of.size() < ranks)
    for (std::size_t host = 0; host < room.size() && beginning.host_of.size() < ranks; ++host)
      if (room[host]-- > 0) beginning.host_of.push_back(static_cast<int>(host));
  return beginning;
}

std::vector<int> block_sizes(const Arranger& arranger) {
  const int largest = *std::ranges::max_element(arranger.slots());
  std::vector<int> sizes = {1};
  std::int64_t size = 1;
  for (const Dimension& dimension : arranger.job().dimensions) {
    size *= dimension.size;
    if (dimension.size > 1 && size <= largest) sizes.push_back(static_cast<int>(size));
  }
  std::ranges::reverse(sizes);
  return sizes;
}

Beginning across(const Arranger& arranger, std::size_t dimension) {
  const Dimension& one = arranger.job().dimensions[dimension];
  const std::vector<int> sequence = group_by_group(arranger, dimension);
  const std::vector<int> blocks = block_order(arranger).host_of;
  const auto size = static_cast<std::size_t>(one.size), groups = sequence.size() / size;
  Beginning beginning{.what = "groups of " + one.name + " across hosts", .host_of = blocks};
  for (std::size_t i = 0; i < sequence.size(); ++i)
    beginning.host_of[static_cast<std::size_t>(sequence[i])] = blocks[i % size * groups + i / size];
  return beginning;
}

std::vector<Beginning> beginnings(const Arranger& arranger) {
  std::vector<Beginning> all = {block_order(arranger)};
  const auto add = [&](std::string what, std::vector<int> host_of) {
    if (std::ranges::find(all, host_of, &Beginning::host_of) == all.end())
      all.push_back({.what = std::move(what), .host_of = std::move(host_of)});
  };
  const std::vector<HostOrder> orders = host_orders(arranger);
  for (const HostOrder& order : orders) {
    for (const int block : block_sizes(arranger)) {
      const std::string what =
          block == 1 ? order.what
                     : order.what + ", in blocks of " + std::to_string(block) + " ranks";
      add(what, fill(arranger, order.hosts, block, arranger.ranks()));
      add(what + ", evenly", fill(arranger, order.hosts, block, even_share(arranger, block)));
    }
  }
  const std::vector<Dimension>& dimensions = arranger.job().dimensions;
  for (std::size_t i = 1; i < dimensions.size(); ++i) {
    if (dimensions[i].size == 1) continue;
    const std::vector<int> sequence = group_by_group(arranger, i);
    for (const int block : {1, dimensions[i].size}) {
      const std::vector<int> blocks = fill(arranger, orders[1].hosts, block, arranger.ranks());
      std::vector<int> host_of(blocks.size());
      for (std::size_t k = 0; k < blocks.size(); ++k)
        host_of[static_cast<std::size_t>(sequence[k])] = blocks[k];
      const std::string name = "groups of " + dimensions[i].name;
      add(block == 1 ? name + " one after the other" : "whole " + name + " within hosts",
          std::move(host_of));
    }
  }
  return all;
}

}  // namespace paceline::topology
