#include "launcher/job/job_text.h"

#include <algorithm>
#include <utility>

#include "launcher/system/exit_status.h"

namespace paceline::launcher {
namespace {

std::string memory_text(std::uint64_t kib) {
  return kib < 10 * 1024 ? std::to_string(kib) + " KiB" : std::to_string(kib / 1024) + " MiB";
}

std::string by_oom_killer(const std::string& where) {
  if (where.empty()) return "";
  return " by the kernel's OOM killer: out of memory in " +
         (where.starts_with('/') ? "cgroup " + where : where);
}

std::string rank_on_host(const JobState& state, std::size_t rank) {
  return "rank " + std::to_string(rank) + " on host " + state.hosts[state.ranks[rank].host].name;
}

}  // namespace

std::string in_host(const JobState& state, std::size_t host, const std::string& text) {
  return "host " + state.hosts[host].name + ": " + text;
}

std::string describe_rank(const JobState& state, std::size_t rank) {
  return rank_on_host(state, rank) + " (pid " + std::to_string(state.ranks[rank].pid) + ")";
}

std::string name_rank(const JobState& state, int rank) {
  const bool is_elsewhere =
      state.hosts.size() > 1 && rank >= 0 && std::cmp_less(rank, state.ranks.size());
  return is_elsewhere ? rank_on_host(state, static_cast<std::size_t>(rank))
                      : "rank " + std::to_string(rank);
}

std::string ending_text(const JobState& state) {
  const auto left = std::ranges::count_if(state.ranks, [&state](const RankState& rank) {
    return !rank.ended && !state.hosts[rank.host].is_lost;
  });
  if (left == 0) return "";
  return "; ending " + std::to_string(left) + (left == 1 ? " rank" : " ranks");
}

std::string ranks_text(std::span<const std::uint32_t> ranks) {
  if (ranks.empty()) return "0 ranks";
  const std::uint32_t first = ranks.front(), last = ranks.back();
  const std::size_t count = ranks.size();
  if (count == 1) return "rank " + std::to_string(first);
  if (last - first + 1 == count)
    return "ranks " + std::to_string(first) + " to " + std::to_string(last);
  return std::to_string(count) + " ranks from rank " + std::to_string(first) + " on";
}

std::string in_last_operation(const std::string& operation) {
  return operation.empty() ? "" : "; its last operation: " + operation;
}

std::string in_words(const messages::RankExited& exited) {
  return describe(exited.wait_status()) + by_oom_killer(exited.oom_cgroup()) + "; peak memory " +
         memory_text(exited.peak_memory_kib()) + in_last_operation(exited.last_operation());
}

}  // namespace paceline::launcher
