#include "launcher/tools/measure/tune/tune.h"

#include <algorithm>
#include <cmath>

#include "collectives/backend/shm/form.h"
#include "collectives/host_world.h"
#include "collectives/plan/shape.h"
#include "comm/base/text.h"
#include "comm/base/try.h"
#include "launcher/options/nearest.h"
#include "launcher/options/option_values.h"
#include "launcher/tools/measure/probe/loop/operation.h"

namespace paceline::launcher {
namespace {

constexpr std::size_t kKiB = 1024;
constexpr ContributedBytes kShort{.least = 512, .most = 32 * kKiB};
constexpr ContributedBytes kStaged{.least = 16 * kKiB, .most = 512 * kKiB};
constexpr int kPairs = 5;
constexpr int kTimeMs = 8;
constexpr int kMostStarts = 99;
constexpr OperationKind kKinds[] = {OperationKind::kAllReduce, OperationKind::kReduceScatter,
                                    OperationKind::kAllGather, OperationKind::kAllToAll,
                                    OperationKind::kBroadcast};

constexpr const char* kTuneHelp =
    "usage: paceline tune [-n 2,4,8] [--starts K] [--output FILE] [--dry-run]\n"
    "Finds the size up to which each method in shared memory is faster than the method for longer\n"
    "data, such as copying in chunks. Run it once, on an idle machine. All your later jobs use\n"
    "the result. Without it, jobs use sizes that were measured on the developers' machine.\n"
    "\n"
    "  -n LIST               Numbers of ranks (default: 2, 4, 8, … up to twice the CPUs)\n"
    "  --starts K            Number of starts for each; the medians count (default 3)\n"
    "  --output FILE         File for the result; see PACELINE_TUNING (default: tuning-MACHINE in\n"
    "                        $XDG_CACHE_HOME/paceline or ~/.cache/paceline)\n"
    "  --dry-run             Print the result without storing it\n"
    "  -h, --help            This page\n"
    "\n"
    "The result applies to machines with this CPU model, number of CPUs and caches, and to these\n"
    "numbers of ranks per host. PACELINE_EXPLAIN=1 prints the sizes that a job uses.\n"
    "PACELINE_TUNING=none ignores the result.\n"
    "\n"
    "Exit code: 0 for success. 125: a wrong option, or the measurement failed.\n"
    "\n"
    "Example:  paceline tune -n 2,4 --dry-run\n";

Result<std::vector<int>> parse_ranks(const std::string& text) {
  std::vector<int> ranks;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const auto number = parse_number<int>(std::string_view(text).substr(at, comma - at));
    if (!number || *number < 2 || *number > kMostHostRanks)
      return usage_error("-n: '" + text + "' is not a list of numbers from 2 to " +
                         std::to_string(kMostHostRanks) + " such as 2,4,8");
    ranks.push_back(*number);
    at = comma + 1;
  }
  return ranks;
}

Status take_value(const std::string& option, const std::string& value, TuneRequest& into) {
  if (option == "--output") {
    into.file = value;
  } else if (option == "-n") {
    PACELINE_TRY_ASSIGN(into.ranks, parse_ranks(value));
  } else {
    const auto starts = parse_number<int>(value);
    if (!starts || *starts < 1 || *starts > kMostStarts)
      return usage_error("--starts: '" + value + "' is not a number from 1 to " +
                         std::to_string(kMostStarts));
    into.starts = *starts;
  }
  return Status();
}

// With segments as long as a host ever has them.
shm::MethodTerms terms_of(int ranks, int cpus) {
  return {.ranks = ranks,
          .shares_cpus = ranks > cpus,
          .has_buffers = true,
          .post_bytes = kShort.most,
          .chunk_bytes = SIZE_MAX};
}

Shape shape_of_root(const TuneTask& task) {
  return shape_of({.kind = task.kind, .rank = 0, .ranks = task.ranks, .root = 0, .count = 1});
}

}  // namespace

Result<TuneRequest> parse_tune(std::span<const std::string> arguments) {
  const std::vector<std::string> options{"-n", "--starts", "--output", "--dry-run", "--help"};
  TuneRequest request;
  for (std::size_t at = 0; at < arguments.size(); ++at) {
    const std::string& word = arguments[at];
    if (std::find(options.begin(), options.end(), word) == options.end())
      return usage_error("'" + word + "' is not an option of paceline tune" +
                         did_you_mean(word, options));
    if (word == "--dry-run") {
      request.keeps = false;
      continue;
    }
    if (++at == arguments.size() || arguments[at].empty())
      return usage_error("option " + word + " needs a value");
    PACELINE_TRY(take_value(word, arguments[at], request));
  }
  return request;
}

std::string tune_help() { return kTuneHelp; }

std::vector<int> default_ranks(int cpus) {
  std::vector<int> ranks;
  for (int count = 2; count <= std::min(std::max(2 * cpus, 8), kMostHostRanks); count *= 2)
    ranks.push_back(count);
  return ranks;
}

std::vector<TuneTask> tune_tasks(std::span<const int> ranks, int cpus) {
  std::vector<TuneTask> tasks;
  for (const int count : ranks) {
    const shm::MethodTerms terms = terms_of(count, cpus);
    for (const OperationKind kind : kKinds) {
      const shm::Method of_short = shm::choose(kind, terms).way(0).ordinary;
      const auto add = [&](shm::Limit limit, shm::Method below, shm::Method beyond) {
        tasks.push_back(
            {.kind = kind, .ranks = count, .limit = limit, .below = below, .beyond = beyond});
      };
      add(shm::Limit::kOrdinary, of_short, shm::Method::kPipelined);
      if (!terms.shares_cpus) add(shm::Limit::kBuffers, of_short, shm::Method::kZeroCopy);
      if (shm::may_stage(kind, terms))
        add(shm::Limit::kStaged, shm::Method::kPipelined, shm::Method::kZeroCopy);
    }
  }
  return tasks;
}

ContributedBytes contributed_bytes(const TuneTask& task) {
  return task.limit == shm::Limit::kStaged ? kStaged : kShort;
}

BenchRequest bench_of(const TuneTask& task) {
  const Shape shape = shape_of_root(task);
  const std::size_t blocks = std::max(shape.input_count, shape.output_count) / shape.input_count;
  BenchRequest request;
  request.ranks = task.ranks;
  request.pairs = kPairs;
  request.orders.operation = name(task.kind);
  request.orders.registered = task.limit != shm::Limit::kOrdinary;
  request.orders.low_bytes = contributed_bytes(task).least * blocks;
  request.orders.high_bytes = contributed_bytes(task).most * blocks;
  request.orders.time_ms = kTimeMs;
  return request;
}

std::size_t contribution_bytes(const TuneTask& task, std::size_t array_bytes) {
  const Shape shape = shape_of_root(task);
  return array_bytes / std::max(shape.input_count, shape.output_count) * shape.input_count;
}

std::size_t built_in_size(const TuneTask& task, int cpus) {
  const shm::Choice choice = shm::choose(task.kind, terms_of(task.ranks, cpus));
  std::size_t most = 0;
  for (const shm::Way& way : choice.ways) {
    const bool is_below = task.limit == shm::Limit::kOrdinary  ? way.posts()
                          : task.limit == shm::Limit::kBuffers ? way.is_short()
                                                               : way.in_buffers == way.ordinary;
    if (!is_below) break;
    most = way.most_bytes;
  }
  return most;
}

std::size_t best_limit(std::span<const MethodRatio> ratios, std::size_t built_in) {
  std::size_t best_bytes = ratios.empty() ? built_in : ratios.front().bytes / 2;
  double saved = 0, most_saved = 0, built_in_saved = 0;
  for (const MethodRatio& one : ratios) {
    saved += std::clamp(std::log2(one.ratio), -1.0, 1.0);
    if (one.bytes <= built_in) built_in_saved = saved;
    if (saved <= most_saved) continue;
    most_saved = saved;
    best_bytes = one.bytes;
  }
  return most_saved - built_in_saved < std::log2(1.1) ? built_in : best_bytes;
}

}  // namespace paceline::launcher
