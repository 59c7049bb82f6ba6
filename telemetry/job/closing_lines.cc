#include "telemetry/job/closing_lines.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <functional>
#include <ranges>

namespace paceline {
namespace {

constexpr double kWorthSaying = 0.005;      // half a percent
constexpr double kWorthSayingSeconds = 10;  // of a job without marked steps
constexpr std::size_t kMostRanks = 3;

[[gnu::format(printf, 1, 2)]] std::string format(const char* form, ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, form);
  std::vsnprintf(text, sizeof text, form, arguments);
  va_end(arguments);
  return text;
}

std::string percent(double share) { return format("%.0f %%", 100 * share); }

std::string time_text(double seconds) {
  if (seconds < 1e-3) return format("%.1f us", 1e6 * seconds);
  return seconds < 1 ? format("%.2f ms", 1e3 * seconds) : format("%.2f s", seconds);
}

std::string ranks_text(int ranks) {
  return std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks");
}

// "15 % for rank 3 on h2, 5 % for rank 1 on h1"
std::string waited_for_text(const JobSummary& summary, const std::vector<std::string>& hosts) {
  const bool names_hosts =
      std::ranges::adjacent_find(hosts, std::ranges::not_equal_to()) != hosts.end();
  std::string text;
  for (const auto& [rank, share] : summary.waited_for | std::views::take(kMostRanks)) {
    if (share < kWorthSaying) break;
    text.append(text.empty() ? "" : ", ").append(percent(share));
    text.append(" for rank ").append(std::to_string(rank));
    if (names_hosts) text.append(" on ").append(hosts[static_cast<std::size_t>(rank)]);
    if (const Cause cause = summary.cause_of(rank); cause != Cause::kUnknown)
      text.append(": ").append(words_of(cause));
  }
  return text;
}

struct Loss {
  std::string what;
  double share;
  std::string more{};
};

// The largest first. What the one-rank run lost, too, is not a loss of scaling.
std::string losses_text(const JobSummary& summary, const std::vector<std::string>& hosts,
                        const std::optional<Baseline>& baseline) {
  const std::optional<double> efficiency = scaling_efficiency(summary, baseline);
  std::vector<Loss> losses;
  for (std::size_t i = 0; i < kSpents; ++i) {
    const auto spent = static_cast<Spent>(i);
    const double before = efficiency ? *efficiency * baseline->shares[i] : 0;
    if (spent != Spent::kCompute)
      losses.push_back({std::string(name(spent)), summary.shares[i] - before});
    else if (efficiency)
      losses.push_back({"slower computation", summary.shares[i] - before});
    if (spent == Spent::kMoving) losses.back().more = words_of(summary.slow_links);
    if (spent == Spent::kWaiting) losses.back().more = waited_for_text(summary, hosts);
  }
  std::ranges::stable_sort(losses, std::greater(), &Loss::share);
  std::string text;
  for (const Loss& loss : losses) {
    if (loss.share < kWorthSaying) continue;
    text.append(text.empty() ? "" : ", ").append(loss.what + " " + percent(loss.share));
    if (!loss.more.empty()) text.append(" (").append(loss.more).append(")");
  }
  return text.empty() ? "nothing" : text;
}

std::string steps_line(const JobSummary& summary) {
  std::string text = std::to_string(summary.steps) + (summary.steps == 1 ? " step" : " steps") +
                     " of " + time_text(summary.step_seconds()) + " on " +
                     ranks_text(summary.ranks);
  if (summary.ranks < summary.job_ranks) text += " of " + std::to_string(summary.job_ranks);
  if (summary.samples_per_s > 0)
    text += format(summary.samples_per_s < 100 ? ", %.3g samples/s" : ", %.0f samples/s",
                   summary.samples_per_s);
  if (summary.flop_per_s > 0) text += format(", %.3g TFLOP/s", summary.flop_per_s / 1e12);
  if (const auto mfu = summary.mfu())
    text += format(*mfu < 0.01 ? " (MFU %.2g %%)" : " (MFU %.0f %%)", 100 * *mfu);
  else if (summary.peak_flop_per_s > 0)
    text += ", MFU not known: no rank states its operations, as by end_step(samples, flop)";
  return text;
}

std::string compute_line(const JobSummary& summary, const std::vector<std::string>& hosts) {
  return "time in steps: compute " + percent(summary.share(Spent::kCompute)) +
         "; lost to: " + losses_text(summary, hosts, {});
}

// "2.1 ms a step, 1.3 times as fast as the run of 2026-11-29 15:12 (2.73 ms)"
std::string ceiling_text(const JobSummary& summary, const std::optional<WholeRun>& whole) {
  const std::string step = time_text(summary.step_seconds()) + " a step";
  if (!whole)
    return step + "; run the same command without --ablate to see how much faster this is";
  const double ratio = whole->step_seconds / summary.step_seconds();
  return step + format(ratio < 10 ? ", %.2f" : ", %.0f", ratio) + " times as fast as the run of " +
         whole->when + " (" + time_text(whole->step_seconds) + ")";
}

}  // namespace

std::optional<double> scaling_efficiency(const JobSummary& summary,
                                         const std::optional<Baseline>& baseline) {
  if (!baseline || baseline->samples_per_s <= 0 || summary.samples_per_s <= 0 ||
      summary.ranks < summary.job_ranks)
    return std::nullopt;
  return summary.samples_per_s / (summary.ranks * baseline->samples_per_s);
}

std::vector<std::string> ceiling_lines(const std::optional<JobSummary>& summary,
                                       const Ablation& ablation,
                                       const std::optional<WholeRun>& whole) {
  const std::string option = "--ablate " + ablation.to_text();
  if (!summary) return {option + " left nothing out, because no rank used the library"};
  std::vector<std::string> lines;
  const Ablation done{.communication = ablation.communication,
                      .input = ablation.input && summary->repeats_input};
  if (summary->has_steps) {
    lines.push_back(steps_line(*summary));
    lines.push_back(compute_line(*summary, {}));
  }
  if (ablation.input && !done.input)
    lines.emplace_back(
        "input was not repeated, because no rank asked for it after a step "
        "(input_is_repeated() in paceline/steps.h)");
  if (!done.is_any()) return lines;
  if (summary->has_steps)
    lines.push_back(done.words() + ": " + ceiling_text(*summary, whole));
  else
    lines.emplace_back("mark steps to see the ceiling (paceline/steps.h)");
  lines.push_back("the results of this run are wrong on purpose (" + option + ")");
  return lines;
}

std::vector<std::string> closing_lines(const JobSummary& summary,
                                       const std::vector<std::string>& hosts,
                                       const std::optional<Baseline>& baseline) {
  if (!summary.has_steps && summary.seconds < kWorthSayingSeconds) return {};
  if (!summary.has_steps)
    return {"communication took " + percent(1 - summary.share(Spent::kCompute)) + " of " +
            time_text(summary.seconds) + " on " + ranks_text(summary.ranks) + ": " +
            losses_text(summary, hosts, {}) + "; mark steps (paceline/steps.h) for more"};
  std::vector<std::string> lines{steps_line(summary)};
  if (summary.job_ranks == 1) {
    lines.push_back(compute_line(summary, hosts));
    return lines;
  }
  const auto measured = scaling_efficiency(summary, baseline);
  const std::string efficiency =
      measured
          ? percent(*measured) + " (measured against the one-rank run of " + baseline->when + ")"
          : percent(summary.share(Spent::kCompute)) + " (estimate: compute / step time)";
  lines.push_back("scaling efficiency " + efficiency +
                  "; lost to: " + losses_text(summary, hosts, baseline));
  return lines;
}

}  // namespace paceline
