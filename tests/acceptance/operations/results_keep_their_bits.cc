// Reductions of floating-point numbers keep their bits, 1,000 times each: under run_stable in every
// run of the same world; under placement_stable also when all ranks share a host or none does, when
// another backend or algorithm carries them out, and with other segments.
//
//   results_keep_their_bits [--quick]
//
// Inputs are such that another order of summing gives other bits, which is shown first. Last comes
// what each costs, in medians of calls over TCP, against fast.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/plan/shape.h"
#include "collectives/reduce/elements.h"
#include "comm/base/clock.h"
#include "comm/base/digest.h"
#include "comm/base/random.h"
#include "comm/base/with_type.h"
#include "comm/bytes.h"
#include "tests/harness/ranks.h"

namespace paceline::testing {
namespace {

constexpr int kRanks = 5;
constexpr OperationKind kKinds[] = {OperationKind::kAllReduce, OperationKind::kReduce,
                                    OperationKind::kReduceScatter};
constexpr DataType kTypes[] = {DataType::kFloat32, DataType::kFloat64, DataType::kFloat16,
                               DataType::kBFloat16};
constexpr std::size_t kCounts[] = {3, 1000, 5003};
// The first is as if each rank had a host of its own.
constexpr Mode kPlanModes[] = {Mode::kThreads, Mode::kSharedMemoryThreads};
constexpr Mode kDirectModes[] = {Mode::kDirectThreads, Mode::kGatheringThreads};

// One call of a repetition, with what this rank puts in.
struct Case {
  PlanRequest request;
  DataType type;
  ReduceOp op;
  Bytes input;
  Bytes output;
};

Bytes random_numbers(DataType type, std::size_t count, Random random) {
  Bytes numbers(count * size_of(type));
  with_type(type, [&]<class T>(T) {
    for (std::size_t i = 0; i < count; ++i) {
      const double mantissa = static_cast<double>(random.below(4001)) / 2000 - 1;
      const double number = std::ldexp(mantissa, static_cast<int>(random.below(12)) - 8);
      reduce::store_element<T>(numbers.data(), i, static_cast<reduce::Wide<T>>(number));
    }
  });
  return numbers;
}

std::vector<Case> cases_of(int rank) {
  std::vector<Case> cases;
  Random random(static_cast<std::uint64_t>(rank) + 1);
  for (const OperationKind kind : kKinds) {
    for (const DataType type : kTypes) {
      for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kAvg}) {
        for (const std::size_t count : kCounts) {
          const PlanRequest request{
              .kind = kind, .rank = rank, .ranks = kRanks, .root = 1, .count = count};
          const Shape shape = shape_of(request);
          cases.push_back({.request = request,
                           .type = type,
                           .op = op,
                           .input = random_numbers(type, shape.input_count, random.fork()),
                           .output = Bytes(shape.output_count * size_of(type))});
        }
      }
    }
  }
  return cases;
}

Status call(Communicator& world, Case& each) {
  const std::size_t count = each.request.count;
  switch (each.request.kind) {
    case OperationKind::kReduce:
      return world.reduce(each.input.data(), each.output.data(), count, each.type, each.op,
                          each.request.root);
    case OperationKind::kReduceScatter:
      return world.reduce_scatter(each.input.data(), each.output.data(), count, each.type, each.op);
    default:
      return world.all_reduce(each.input.data(), each.output.data(), count, each.type, each.op);
  }
}

// What each rank's results came to the first time, and how often that was so again.
class Bits {
 public:
  /// False where they differ.
  bool compare(int rank, std::uint64_t bits) {
    const std::lock_guard lock(mutex_);
    std::optional<std::uint64_t>& first = first_[static_cast<std::size_t>(rank)];
    if (!first) first = bits;
    if (*first != bits) return false;
    ++compared_;
    return true;
  }
  int repetitions() const { return compared_ / kRanks; }

 private:
  std::mutex mutex_;
  std::array<std::optional<std::uint64_t>, kRanks> first_;
  int compared_ = 0;
};

Status repeat(const RunOptions& options, int times, Bits& bits) {
  const Status status = run_ranks(options, [&](Communicator& world) -> Status {
    std::vector<Case> cases = cases_of(world.rank());
    for (int time = 0; time < times; ++time) {
      std::uint64_t all = 0;
      for (Case& each : cases) {
        if (Status called = call(world, each); !called.ok()) return called;
        const auto* const text = reinterpret_cast<const char*>(each.output.data());
        all = all * 31 + digest(std::string_view(text, each.output.size()));
      }
      if (!bits.compare(world.rank(), all))
        return Status(Code::kInternal, Scope::kOperation, "other bits than the first time");
    }
    return world.close();
  });
  return status.with_context(name(options.mode) + ", algorithm \"" + options.algorithm +
                             "\", segments of " + std::to_string(options.segment_bytes));
}

RunOptions options_of(Mode mode, Determinism determinism, std::size_t segment_bytes = 4096) {
  return {
      .mode = mode, .ranks = kRanks, .segment_bytes = segment_bytes, .determinism = determinism};
}

Status show_that_order_matters() {
  Bits bits;
  RunOptions options = options_of(Mode::kThreads, Determinism::kFast);
  options.algorithm = "ring";
  if (Status status = repeat(options, 1, bits); !status.ok()) return status;
  options.algorithm = "recursive_doubling";
  if (!repeat(options, 1, bits).ok()) return {};
  return Status(Code::kInternal, Scope::kNone, "another order of summing gives the same bits");
}

Status run_stable(int worlds, int times) {
  std::vector<Mode> modes(std::begin(kPlanModes), std::end(kPlanModes));
  modes.insert(modes.end(), std::begin(kDirectModes), std::end(kDirectModes));
  for (const Mode mode : modes) {
    Bits bits;
    for (int world = 0; world < worlds; ++world) {
      const Status status = repeat(options_of(mode, Determinism::kRunStable), times, bits);
      if (!status.ok()) return status;
    }
    std::printf("run_stable, %s: %d repetitions in %d worlds, the same bits\n", name(mode).c_str(),
                bits.repetitions(), worlds);
    std::fflush(stdout);
  }
  return {};
}

Status placement_stable(int times) {
  Bits bits;
  int worlds = 0;
  const auto run = [&](RunOptions options, const char* algorithm) {
    options.algorithm = algorithm;
    ++worlds;
    return repeat(options, times, bits);
  };
  for (const std::size_t segment_bytes : {256u, 4096u, 65536u}) {
    for (const char* const algorithm : {"", "direct", "gather_reduce"}) {
      for (const Mode mode : kPlanModes) {
        const RunOptions options = options_of(mode, Determinism::kPlacementStable, segment_bytes);
        if (Status status = run(options, algorithm); !status.ok()) return status;
      }
    }
  }
  for (const Mode mode : kDirectModes) {
    const RunOptions options = options_of(mode, Determinism::kPlacementStable);
    if (Status status = run(options, ""); !status.ok()) return status;
  }
  std::printf("placement_stable: %d repetitions in %d worlds of 2 host maps, the same bits\n",
              bits.repetitions(), worlds);
  return {};
}

// Microseconds of an all-reduce over TCP, the median of some.
double median_time(Determinism determinism, std::size_t count) {
  double median_us = 0;
  const SystemClock clock;
  const Status status =
      run_ranks(options_of(Mode::kThreads, determinism, 65536), [&](Communicator& world) -> Status {
        std::vector<float> numbers(count, 1.0f);
        std::vector<double> times;
        for (int i = 0; i < 31; ++i) {
          const TimePoint begin = clock.now();
          if (Status called = world.all_reduce(std::span(numbers)); !called.ok()) return called;
          const std::chrono::duration<double, std::micro> taken = clock.now() - begin;
          times.push_back(taken.count());
        }
        std::nth_element(times.begin(), times.begin() + 15, times.end());
        if (world.rank() == 0) median_us = times[15];
        return {};
      });
  return status.ok() ? median_us : 0;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void print_costs(int rounds) {
  for (const std::size_t count : {1u, 1000u, 250'000u}) {
    std::vector<double> run_stable_costs, placement_stable_costs;
    for (int round = 0; round < rounds; ++round) {
      const double fast = median_time(Determinism::kFast, count);
      run_stable_costs.push_back(median_time(Determinism::kRunStable, count) / fast);
      placement_stable_costs.push_back(median_time(Determinism::kPlacementStable, count) / fast);
    }
    std::printf(
        "all_reduce of %zu float32, %d ranks: run_stable takes %.2f, placement_stable %.2f times "
        "as long as fast\n",
        count, kRanks, median(run_stable_costs), median(placement_stable_costs));
  }
}

int run(bool quick) {
  const int worlds = quick ? 2 : 10, times = quick ? 5 : 100;
  Status status = show_that_order_matters();
  if (status.ok()) status = run_stable(worlds, times);
  if (status.ok()) status = placement_stable(quick ? 2 : 50);
  if (!status.ok()) {
    std::printf("FAILED: %s\n", status.to_string().c_str());
    return 1;
  }
  print_costs(quick ? 1 : 9);
  std::printf("the same bits in every repetition, under run_stable and placement_stable\n");
  return 0;
}

}  // namespace
}  // namespace paceline::testing

int main(int argc, char** argv) {
  return paceline::testing::run(argc > 1 && std::string_view(argv[1]) == "--quick");
}
