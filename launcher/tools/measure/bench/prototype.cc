#include "launcher/tools/measure/bench/prototype.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>

#include "launcher/tools/measure/bench/text_format.h"
#include "launcher/tools/measure/probe/loop/limit.h"

namespace paceline::launcher {
namespace {

constexpr int kRanks = 2;
constexpr double kWithin = 1.2;
constexpr double kFlagNs = 100;

struct Reached {
  std::string_view operation;
  std::size_t bytes;
  double us;
};

// All-reduce in place. From 64 KiB on with buffers that are not shared; broadcast was tried with
// shared ones only, which spare it a copy.
constexpr Reached kReached[] = {
    {"barrier", 0, .18},
    {"all_reduce", 4, .20},
    {"all_reduce", 64, .26},
    {"all_reduce", 1024, .65},
    {"all_reduce", 8192, 3.5},
    {"all_reduce", 65536, 10},
    {"all_reduce", 524288, 73},
    {"all_reduce", 4194304, 514},
    {"all_reduce", 33554432, 6741},
    {"all_reduce", 1 << 28, 57422},
    {"broadcast", 64, .22},
    {"broadcast", 1024, .76},
    {"broadcast", 8192, 2.8},
};

struct Rate {
  double bytes;
  double gbps;
};

// Copied by two threads.
constexpr Rate kRates[] = {{65536, 70}, {1 << 20, 82}, {1 << 24, 23}, {1 << 28, 13}};

// Between two sizes both are taken by their logarithms.
double rate_at(double bytes) {
  if (bytes <= kRates[0].bytes) return kRates[0].gbps;
  for (std::size_t i = 1; i < std::size(kRates); ++i) {
    const Rate &low = kRates[i - 1], &high = kRates[i];
    if (bytes > high.bytes) continue;
    const double share = std::log(bytes / low.bytes) / std::log(high.bytes / low.bytes);
    return low.gbps * std::pow(high.gbps / low.gbps, share);
  }
  return kRates[std::size(kRates) - 1].gbps;
}

}  // namespace

std::optional<double> prototype_ns(const BenchTitle& title, const probe::Row& row) {
  const auto* const reached =
      std::find_if(std::begin(kReached), std::end(kReached), [&](const Reached& one) {
        return one.operation == title.operation.name() && one.bytes == row.bytes;
      });
  const bool apart = !title.operation.is_in_place(title.orders.in_place);
  if (reached == std::end(kReached) || title.ranks != kRanks || apart || title.orders.cold ||
      row.limit_ns <= 0)
    return std::nullopt;
  const probe::Machine there{.flag_ns = kFlagNs,
                             .bytes_per_ns = rate_at(static_cast<double>(row.bytes))};
  const double allowed = probe::limit_ns(title.operation, row.bytes, kRanks, there);
  return 1000 * reached->us * row.limit_ns / allowed;
}

std::string prototype_lines(const BenchTitle& title, std::span<const probe::Row> rows) {
  std::string lines;
  int compared = 0, within = 0;
  for (const probe::Row& row : rows) {
    const auto expected = prototype_ns(title, row);
    if (!expected) continue;
    const double ratio = row.p50_ns / *expected;
    ++compared;
    if (ratio <= kWithin) ++within;
    lines += text("# %llu B: %.3f us; the prototype, scaled to this machine: %.3f us (x %.2f%s)\n",
                  static_cast<unsigned long long>(row.bytes), row.p50_ns / 1000, *expected / 1000,
                  ratio, ratio <= kWithin ? "" : ", not within 20 %");
  }
  if (compared == 0) return "";
  return lines +
         text("# within 20 %% of the prototype, or faster, at %d of %d sizes\n", within, compared);
}

}  // namespace paceline::launcher
