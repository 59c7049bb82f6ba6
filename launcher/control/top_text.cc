#include "launcher/control/top_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <numeric>
#include <optional>
#include <vector>

#include "comm/base/clock.h"
#include "comm/base/text.h"
#include "launcher/control/interval.h"
#include "launcher/control/plain_name.h"
#include "launcher/registry/listing.h"
#include "launcher/system/text_table.h"

namespace paceline::launcher {
namespace {

namespace v1 = job::v1;

std::string share_text(double part, double whole) {
  if (whole <= 0) return "-";
  return std::to_string(std::lround(100 * part / whole)) + " %";
}

std::string memory_text(std::uint64_t bytes) {
  char text[32];
  const double mib = static_cast<double>(bytes) / (1 << 20);
  std::snprintf(text, sizeof text, mib < 1024 ? "%.0f MiB" : "%.1f GiB",
                mib < 1024 ? mib : mib / 1024);
  return text;
}

std::string since(double seconds) {
  return elapsed_text(std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds)));
}

// "8 of 8 ranks run, 512 steps of 15.05 ms, 35213 samples/s"
std::string speed_text(const v1::Snapshot& now, const JobInterval& between) {
  const auto running = std::ranges::count(now.ranks(), v1::Rank::STATE_RUNNING, &v1::Rank::state);
  std::string text = std::to_string(running) + " of " + std::to_string(now.ranks_size()) +
                     (now.ranks_size() == 1 ? " rank runs" : " ranks run");
  char part[64];
  if (between.steps > 0 && between.seconds > 0) {
    std::snprintf(part, sizeof part, ", steps of %.2f ms",
                  1e3 * between.seconds / static_cast<double>(between.steps));
    text += part;
  }
  if (between.samples > 0 && between.seconds > 0) {
    std::snprintf(part, sizeof part, ", %.0f samples/s", between.samples / between.seconds);
    text += part;
  }
  return text;
}

// "compute 61 %, waiting 32 %, input 6 %": the largest first, without what is nothing.
std::string split_text(const JobInterval& between) {
  if (between.spent_seconds() <= 0) return "";
  std::array<std::size_t, kSpents> order;
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater<>(),
                           [&](std::size_t part) { return between.spent[part]; });
  std::string text;
  for (const std::size_t part : order) {
    if (between.spent[part] < 0.005 * between.spent_seconds()) continue;
    text += text.empty() ? "" : ", ";
    text.append(name(static_cast<Spent>(part))).append(" ");
    text += share_text(between.spent[part], between.spent_seconds());
  }
  return text;
}

const v1::WaitedFor* waited_for(const v1::Snapshot& now, int rank) {
  for (const v1::WaitedFor& one : now.performance().waited_for())
    if (one.member().index() == static_cast<std::uint32_t>(rank)) return &one;
  return nullptr;
}

std::string doing(const v1::Snapshot& now, int rank) {
  const v1::Rank& one = now.ranks(rank);
  if (one.state() != v1::Rank::STATE_RUNNING)
    return one.end().empty() ? plain_name(v1::Rank::State_Name(one.state())) : printable(one.end());
  const v1::WaitedFor* const waited = waited_for(now, rank);
  if (waited != nullptr && !waited->cause().empty()) return printable(waited->cause());
  constexpr double kLong = 2;
  const v1::Operation& operation = one.operation();
  if (!operation.running() || operation.seconds() < kLong) return "";
  return "in " + printable(operation.name()) + " for " + since(operation.seconds());
}

std::string known_share(std::optional<double> share) { return share ? share_text(*share, 1) : "-"; }

std::string rate_text(std::optional<double> bytes_per_s) {
  if (!bytes_per_s) return "-";
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MB/s", *bytes_per_s / 1e6);
  return text;
}

// "1.7 of 2"
std::string cpus_text(std::optional<double> busy, const v1::HostUse& use) {
  if (!busy || !use.has_cpus()) return "-";
  char text[48];
  std::snprintf(text, sizeof text, "%.1f of %u", *busy, use.cpus());
  return text;
}

// "2: 87 %": their number, and the mean share of time in which they are busy.
std::string gpus_text(const v1::Host& host) {
  double sum = 0;
  int known = 0;
  for (const v1::Gpu& gpu : host.gpus()) {
    if (!gpu.has_busy_ratio()) continue;
    sum += gpu.busy_ratio();
    ++known;
  }
  if (known == 0) return host.gpus().empty() ? "" : "-";
  return std::to_string(host.gpus_size()) + ": " + share_text(sum, known);
}

// Below an empty line, at most `most` lines; empty, if there is no room, or nothing is known.
std::string hosts_table(const v1::Snapshot& before, const v1::Snapshot& now, std::size_t most) {
  constexpr std::size_t kOtherRows = 3;  // the empty line, the names of the columns, "… and"
  const bool has_use =
      std::ranges::any_of(now.hosts(), [](const v1::Host& host) { return host.has_use(); });
  if (most <= kOtherRows || !has_use) return "";
  const bool has_gpus =
      std::ranges::any_of(now.hosts(), [](const v1::Host& host) { return !host.gpus().empty(); });
  std::vector<std::vector<std::string>> rows{{"HOST", "CPUS BUSY", "NO CPU", "NO MEMORY",
                                              "DISK WAIT", "FREE", "DISK", "NETWORK",
                                              has_gpus ? "GPUS" : ""}};
  const int shown = std::min(now.hosts_size(), static_cast<int>(most - kOtherRows));
  for (int i = 0; i < shown; ++i) {
    const v1::Host& host = now.hosts(i);
    const HostInterval between = host_interval_of(before, now, i);
    rows.push_back({printable(host.name()), cpus_text(between.cpus_busy, host.use()),
                    known_share(between.cpu_stalled), known_share(between.memory_stalled),
                    known_share(between.io_stalled),
                    host.use().has_available_memory_bytes()
                        ? memory_text(host.use().available_memory_bytes())
                        : "-",
                    rate_text(between.disk_bytes_per_s), rate_text(between.network_bytes_per_s),
                    gpus_text(host)});
  }
  std::string text = "\n" + text_table(rows);
  if (shown < now.hosts_size())
    text += "… and " + std::to_string(now.hosts_size() - shown) + " more hosts\n";
  return text;
}

std::vector<std::string> row_of(const v1::Snapshot& before, const v1::Snapshot& now, int rank) {
  const v1::WaitedFor* const waited = waited_for(now, rank);
  std::vector<std::string> row{std::to_string(rank), printable(now.ranks(rank).host()),
                               waited == nullptr ? "-" : share_text(waited->share(), 1)};
  const std::optional<RankInterval> between = interval_of(before, now, rank);
  const double whole = between ? between->step_seconds() : 0;
  for (const auto part : {&RankInterval::compute, &RankInterval::communication,
                          &RankInterval::input, &RankInterval::other})
    row.push_back(between ? share_text((*between).*part, whole) : "-");
  row.push_back(between ? share_text(between->running, between->seconds) : "-");
  row.push_back(between ? share_text(between->queued, between->seconds) : "-");
  row.push_back(now.ranks(rank).has_work() ? memory_text(now.ranks(rank).work().resident_bytes())
                                           : "-");
  row.push_back(doing(now, rank));
  return row;
}

}  // namespace

std::string top_line(const v1::Snapshot& before, const v1::Snapshot& now) {
  const JobInterval between = interval_of(before, now);
  const std::string split = split_text(between);
  return since(now.elapsed_seconds()) + " " + phase_text(now.phase()) + ": " +
         speed_text(now, between) + (split.empty() ? "" : "; " + split) + "\n";
}

std::string top_page(const TopView& view, std::size_t lines) {
  const v1::Snapshot &before = view.before, &now = view.now;
  const JobInterval between = interval_of(before, now);
  std::string text = "job " + printable(now.job_id()) + ": " + phase_text(now.phase()) + " after " +
                     since(now.elapsed_seconds()) + "; " + speed_text(now, between) + "\n" +
                     shown_command(now) + "\n";
  const std::string split = split_text(between);
  if (!now.performance().has_steps())
    text += "no rank marks steps yet";
  else
    text += split.empty() ? "no step has ended since the last page" : split;
  text += "\n\n";
  std::vector<int> order(static_cast<std::size_t>(now.ranks_size()));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater<>(), [&](int rank) {
    const v1::WaitedFor* const waited = waited_for(now, rank);
    return waited == nullptr ? 0 : waited->share();
  });
  constexpr std::size_t kOtherLines = 6;  // above, the names of the columns, and the cursor's
  const std::string hosts = hosts_table(view.earlier, now, lines / 4);
  const auto used = kOtherLines + static_cast<std::size_t>(std::ranges::count(hosts, '\n'));
  const std::size_t room = std::max(lines, used + 1) - used;
  const std::size_t shown = order.size() <= room ? order.size() : room - 1;
  std::vector<std::vector<std::string>> rows{{"RANK", "HOST", "WAITED FOR", "COMPUTE", "COMM",
                                              "INPUT", "OTHER", "CPU", "NO CPU", "MEMORY", ""}};
  for (const int rank : std::vector<int>(order.begin(), order.begin() + static_cast<int>(shown)))
    rows.push_back(row_of(before, now, rank));
  if (!order.empty()) text += text_table(rows);
  if (shown < order.size())
    text += "… and " + std::to_string(order.size() - shown) + " ranks that are waited for less\n";
  return text + hosts;
}

}  // namespace paceline::launcher
