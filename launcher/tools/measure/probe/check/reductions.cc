#include "launcher/tools/measure/probe/check/reductions.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "comm/base/read_file.h"
#include "comm/base/text.h"
#include "comm/base/try.h"

namespace paceline::probe {
namespace {

constexpr std::size_t kShortest = 4096;
constexpr std::size_t kLongest = std::size_t{64} << 20;
constexpr std::size_t kStep = 16;  // from one size to the next
constexpr int kLeastCalls = 3;
constexpr int kMostCalls = 1000;
constexpr int kWarmUps = 2;
constexpr int kPattern = 7;  // sums of small whole numbers are exact

double sent_bytes(const std::string& device) {
  if (device.empty()) return 0;
  const std::string text =
      read_file(std::string("/sys/class/net/").append(device).append("/statistics/tx_bytes"));
  return parse_number<double>(std::string_view(text).substr(0, text.find('\n'))).value_or(0);
}

float part_of(int rank, std::size_t element) {
  return static_cast<float>(rank + 1 + static_cast<int>(element % kPattern));
}

float sum_of(int ranks, std::size_t element) {
  return static_cast<float>(ranks * (ranks + 1) / 2 + ranks * static_cast<int>(element % kPattern));
}

class Loop {
 public:
  Loop(Communicator& group, const ReductionOrder& order, const Clock& clock)
      : group_(group),
        order_(order),
        clock_(clock),
        in_(order.bytes / sizeof(float)),
        out_(in_.size()) {
    for (std::size_t i = 0; i < in_.size(); ++i) in_[i] = part_of(group.rank(), i);
  }

  Result<Reduction> run() {
    PACELINE_TRY_ASSIGN(const int calls, decide());
    PACELINE_TRY(group_.barrier());
    const double sent_before = sent_bytes(order_.device);
    const TimePoint begin = clock_.now();
    PACELINE_TRY(call(calls));
    const double ns = static_cast<double>((clock_.now() - begin).count());
    const double sent = sent_bytes(order_.device) - sent_before;
    std::vector<double> most{ns / calls, 8e9 * sent / std::max(ns, 1.0),
                             static_cast<double>(longest_.count())};
    PACELINE_TRY(group_.all_reduce(std::span(most), ReduceOp::kMax));
    std::vector<std::int64_t> wrong{count_wrong()};
    PACELINE_TRY(group_.all_reduce(std::span(wrong)));
    return Reduction{.hosts = group_.size(),
                     .bytes = order_.bytes,
                     .time_us = most[0] / 1e3,
                     .wrong = wrong[0],
                     .wire_bits_per_s = most[1],
                     .max_us = most[2] / 1e3};
  }

 private:
  Status call(int times) {
    TimePoint last = clock_.now();
    for (int i = 0; i < times; ++i) {
      PACELINE_TRY(group_.all_reduce(in_.data(), out_.data(), in_.size(), DataType::kFloat32));
      const TimePoint now = clock_.now();
      longest_ = std::max(longest_, now - std::exchange(last, now));
    }
    return Status();
  }

  // How many calls fill the time: rank 0 says.
  Result<int> decide() {
    PACELINE_TRY(call(kWarmUps));
    const TimePoint begin = clock_.now();
    PACELINE_TRY(call(1));
    const auto one = std::max<Duration>(clock_.now() - begin, Duration(1));
    std::vector<std::int32_t> calls{static_cast<std::int32_t>(
        std::clamp<std::int64_t>(order_.time / one, kLeastCalls, kMostCalls))};
    PACELINE_TRY(group_.broadcast(std::span(calls), 0));
    return calls[0];
  }

  std::int64_t count_wrong() const {
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < out_.size(); ++i) wrong += out_[i] != sum_of(group_.size(), i);
    return wrong;
  }

  Communicator& group_;
  const ReductionOrder& order_;
  const Clock& clock_;
  std::vector<float> in_;
  std::vector<float> out_;
  Duration longest_{};  // of one call
};

}  // namespace

std::vector<int> growing_groups(int hosts) {
  std::vector<int> groups;
  for (int size = 2; size < hosts; size *= 2) groups.push_back(size);
  if (hosts > 1) groups.push_back(hosts);
  return groups;
}

std::vector<std::size_t> reduction_sizes(double bits_per_s, Duration time) {
  // Each host sends, and gets, nearly twice what is reduced.
  const double bytes = bits_per_s / 8 * std::chrono::duration<double>(time).count() / 2;
  const auto whole = static_cast<std::size_t>(
      std::clamp(bytes, static_cast<double>(kShortest), static_cast<double>(kLongest)));
  const std::size_t longest = std::bit_floor(whole);
  std::vector<std::size_t> sizes;
  if (longest / kStep >= kShortest) sizes.push_back(longest / kStep);
  sizes.push_back(longest);
  return sizes;
}

Result<Reduction> measure_reduction(Communicator& group, const ReductionOrder& order,
                                    const Clock& clock) {
  return Loop(group, order, clock).run();
}

}  // namespace paceline::probe
