#include "topology/render/seats_text.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "comm/base/text.h"

namespace paceline::topology {
namespace {

using Row = std::array<std::string, 6>;

std::string node_words(const std::vector<int>& nodes) {
  std::string words;
  for (const int node : nodes) words.append(words.empty() ? "" : ",").append(std::to_string(node));
  return words.empty() ? "-" : words;
}

Row row_of(const HostModel& host, const Seat& seat, std::size_t rank) {
  const auto gpu = static_cast<std::size_t>(seat.gpu);
  const auto nic = static_cast<std::size_t>(seat.nic);
  return {std::to_string(rank),
          seat.gpu == kNone ? "-" : host.gpus[gpu].name,
          seat.nic == kNone ? "-" : host.nics[nic].name,
          seat.cpus.to_text(),
          node_words(seat.numa_nodes),
          seat.why};
}

}  // namespace

std::string seats_text(const HostModel& host, const std::vector<Seat>& seats) {
  std::vector<Row> rows = {{"rank", "GPU", "NIC", "CPUs", "memory", "why"}};
  for (std::size_t rank = 0; rank < seats.size(); ++rank)
    rows.push_back(row_of(host, seats[rank], rank));
  std::array<std::size_t, 6> widths{};
  for (const Row& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (const Row& row : rows) {
    text.append(widths[0] - row[0].size(), ' ').append(row[0]);
    for (std::size_t i = 1; i < row.size(); ++i) {
      text.append("  ").append(row[i]);
      if (i + 1 < row.size()) text.append(widths[i] - row[i].size(), ' ');
    }
    text += '\n';
  }
  return text;
}

}  // namespace paceline::topology
