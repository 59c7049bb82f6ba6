#include "topology/render/seats_text.h"

#include <cstddef>

#include "comm/base/text.h"
#include "topology/render/table.h"

namespace paceline::topology {
namespace {

// Of label, GPU, NIC, CPUs and memory, where lines are bounded.
std::vector<std::size_t> bounded_widths() { return {6, 16, 16, 24, 8}; }

std::string node_words(const std::vector<int>& nodes) {
  std::string words;
  for (const int node : nodes) words.append(words.empty() ? "" : ",").append(std::to_string(node));
  return words.empty() ? "-" : words;
}

std::vector<std::string> row_of(const HostModel& host, const SeatLine& line) {
  const Seat& seat = *line.seat;
  const auto gpu = static_cast<std::size_t>(seat.gpu);
  const auto nic = static_cast<std::size_t>(seat.nic);
  return {line.label,
          seat.gpu == kNone ? "-" : printable(host.gpus[gpu].name),
          seat.nic == kNone ? "-" : printable(host.nics[nic].name),
          seat.cpus.is_empty() ? "-" : seat.cpus.to_text(),
          node_words(seat.numa_nodes),
          printable(line.why)};
}

}  // namespace

std::string seat_lines_text(const HostModel& host, const std::vector<SeatLine>& lines,
                            std::optional<std::size_t> columns) {
  std::vector<std::vector<std::string>> rows = {{"rank", "GPU", "NIC", "CPUs", "memory", "why"}};
  for (const SeatLine& line : lines) rows.push_back(row_of(host, line));
  if (!columns) return table_text(rows, {});
  return table_text(rows, {.most = bounded_widths(), .columns = *columns});
}

std::string seats_text(const HostModel& host, const std::vector<Seat>& seats) {
  std::vector<SeatLine> lines;
  for (const Seat& seat : seats)
    lines.push_back({.label = std::to_string(lines.size()), .seat = &seat, .why = seat.why});
  return seat_lines_text(host, lines, std::nullopt);
}

}  // namespace paceline::topology
