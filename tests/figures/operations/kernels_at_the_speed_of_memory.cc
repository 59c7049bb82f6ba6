// In one thread, sums of two operands of 16 MiB must move at least 80 % of the bytes per second
// (read and written) that libc's memcpy moves in the same run. Tests float32, bfloat16 and int8, in
// place and not in place. The sums must be right, too.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "collectives/reduce/kernels.h"
#include "comm/base/clock.h"
#include "comm/bytes.h"
#include "tests/harness/elements.h"
#include "tests/harness/figure.h"

namespace paceline::testing {
namespace {

constexpr std::size_t kBytes = std::size_t{16} << 20;
constexpr double kLeastShare = 0.8;
constexpr int kRounds = 41;
constexpr DataType kTypes[] = {DataType::kFloat32, DataType::kBFloat16, DataType::kInt8};

template <class Move>
double seconds_of(const Move& move) {
  const SystemClock clock;
  const TimePoint begin = clock.now();
  move();
  return std::chrono::duration<double>(clock.now() - begin).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

bool sums_are_right(DataType type) {
  const CallForm form{.type = type};
  const std::size_t count = kBytes / size_of(type);
  const Elements left = inputs_of(form, 0, count), right = inputs_of(form, 1, count);
  Elements sum = left;
  kernels().of(type).reduction(ReduceOp::kSum)(sum.data(), sum.data(), right.data(), count);
  return !sum.first_other(reduced(form, 2, count));
}

std::string title_of(DataType type, bool in_place) {
  return std::string(name(type)) + (in_place ? " in place" : " out of place");
}

// The median over rounds of the sums' rate, compared with that of a copy in the same round.
double share_of_memcpy(DataType type, bool in_place) {
  const std::size_t count = kBytes / size_of(type);
  Bytes left(kBytes, std::byte{0}), right(kBytes, std::byte{0}), target(kBytes, std::byte{1});
  std::byte* const to = in_place ? left.data() : target.data();
  const Reduction sum = kernels().of(type).reduction(ReduceOp::kSum);
  const auto add = [&] { sum(to, left.data(), right.data(), count); };
  const auto copy = [&] { std::memcpy(target.data(), right.data(), kBytes); };
  add();
  copy();
  std::vector<double> shares, copies;
  for (int round = 0; round < kRounds; ++round) {
    const double copy_s = seconds_of(copy);
    const double add_s = seconds_of(add);
    shares.push_back((3.0 / add_s) / (2.0 / copy_s));
    copies.push_back(2e-9 * kBytes / copy_s);
  }
  std::printf("  %s: %.2f of memcpy's %.1f GB/s\n", title_of(type, in_place).c_str(),
              median(shares), median(copies));
  return median(shares);
}

int run() {
  double least = 1e9;
  bool holds = true;
  for (const DataType type : kTypes) {
    if (!sums_are_right(type)) {
      std::printf("a sum of %s is wrong\n", std::string(name(type)).c_str());
      return 1;
    }
    for (const bool in_place : {true, false}) {
      const double share = share_of_memcpy(type, in_place);
      holds &= report({.name = title_of(type, in_place) + ", share of memcpy's rate",
                       .value = share,
                       .unit = "x",
                       .better = Better::kHigher,
                       .wanted = kLeastShare});
      least = std::min(least, share);
    }
  }
  std::printf("sums move at least %.2f of the bytes a second that memcpy moves (%.2f wanted)\n",
              least, kLeastShare);
  return holds ? 0 : 1;
}

}  // namespace
}  // namespace paceline::testing

int main() { return paceline::testing::run(); }
