// Minimum and maximum of floats, where ranks have NaN and zeros of both signs, and averages of
// float16 numbers whose sum overflows. All algorithms, backends, types and determinism modes follow
// one rule (paceline/types.h, ReduceOp).

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include <paceline/buffer.h>

#include "collectives/algo/algorithms.h"
#include "comm/base/try.h"
#include "comm/base/with_type.h"
#include "tests/harness/ranks.h"

namespace paceline::testing {
namespace {

constexpr OperationKind kKinds[] = {OperationKind::kAllReduce, OperationKind::kReduce,
                                    OperationKind::kReduceScatter, OperationKind::kReduceScatterV};
constexpr ReduceOp kOps[] = {ReduceOp::kMin, ReduceOp::kMax};
constexpr DataType kTypes[] = {DataType::kFloat32, DataType::kFloat64, DataType::kFloat16,
                               DataType::kBFloat16};
// Elements per block of a reduce-scatter. They leave incomplete vectors, and give several segments
// of a plan.
constexpr std::size_t kCounts[] = {1, 7, 101, 3001};

// NaNs: quiet, signalling, negative, and with different payloads.
template <class T>
T nan_of(std::size_t which) {
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t,
                                  std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint16_t>>;
  constexpr int kFraction = std::is_same_v<T, double>    ? 52
                            : std::is_same_v<T, float>   ? 23
                            : std::is_same_v<T, Float16> ? 10
                                                         : 7;
  constexpr Bits kSign = Bits{1} << (8 * sizeof(T) - 1), kQuiet = Bits{1} << (kFraction - 1);
  constexpr Bits kInfinity = static_cast<Bits>(kSign - (Bits{1} << kFraction));
  const Bits all[] = {static_cast<Bits>(kInfinity | kQuiet), static_cast<Bits>(kInfinity | 1),
                      static_cast<Bits>(kSign | kInfinity | kQuiet | 1),
                      static_cast<Bits>(kSign | kInfinity | (kQuiet >> 1))};
  return std::bit_cast<T>(all[which % std::size(all)]);
}

template <class T>
T value_of(double value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<T>(value);
  } else {
    return T(static_cast<float>(value));
  }
}
template <class T>
double number_of(T value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<double>(value);
  } else {
    return static_cast<double>(value.to_float());
  }
}

// From place to place, a different rank has a NaN, or two ranks have one, or none. Some places have
// zeros of both signs or infinities.
template <class T>
T element_of(int rank, int ranks, std::size_t place) {
  const auto who = static_cast<std::size_t>(rank), all = static_cast<std::size_t>(ranks);
  const std::size_t turn = place % (2 * all + 3);
  if (turn % all == who && turn < 2 * all) return nan_of<T>(place + who);
  if (turn == 2 * all + 1) return value_of<T>((place + who) % 3 == 0 ? -0.0 : 0.0);
  if (turn == 2 * all + 2 && who == place % all)
    return value_of<T>(place % 2 == 0 ? -std::numeric_limits<double>::infinity()
                                      : std::numeric_limits<double>::infinity());
  if (turn >= all && (turn + 1) % all == who && turn < 2 * all) return nan_of<T>(place);
  return value_of<T>(static_cast<double>((place * 7 + who * 5) % 23) - 11);
}

template <class T>
double expected_of(ReduceOp op, int ranks, std::size_t place) {
  double total = number_of(element_of<T>(0, ranks, place));
  for (int rank = 1; rank < ranks; ++rank) {
    const double next = number_of(element_of<T>(rank, ranks, place));
    if (std::isnan(total) || std::isnan(next)) return std::numeric_limits<double>::quiet_NaN();
    const bool is_less = next < total || (next == total && std::signbit(next));
    if (is_less == (op == ReduceOp::kMin)) total = next;
  }
  return total;
}

bool same(double left, double right) {
  if (std::isnan(left) || std::isnan(right)) return std::isnan(left) && std::isnan(right);
  return left == right && std::signbit(left) == std::signbit(right);
}

template <class T>
Status check_part(const std::string& what, std::span<const T> result, ReduceOp op, int ranks,
                  std::size_t first) {
  for (std::size_t i = 0; i < result.size(); ++i) {
    const double expected = expected_of<T>(op, ranks, first + i);
    if (!same(number_of(result[i]), expected))
      return wrong(what + ": element " + std::to_string(i) + " is " +
                   std::to_string(number_of(result[i])) + ", not " + std::to_string(expected));
  }
  return {};
}

int root_of(const Communicator& world) { return world.size() - 1; }

template <class T>
Status call(Communicator& world, OperationKind kind, ReduceOp op, std::span<T> in, std::span<T> out,
            std::size_t count) {
  const std::vector<std::size_t> counts(static_cast<std::size_t>(world.size()), count);
  switch (kind) {
    case OperationKind::kReduce:
      return world.reduce(in.data(), out.data(), count, kDataTypeOf<T>, op, root_of(world));
    case OperationKind::kReduceScatter:
      return world.reduce_scatter(in.data(), out.data(), count, kDataTypeOf<T>, op);
    case OperationKind::kReduceScatterV:
      return world.reduce_scatter_v(in.data(), out.data(), counts, kDataTypeOf<T>, op);
    default:
      return world.all_reduce(in.data(), out.data(), count, kDataTypeOf<T>, op);
  }
}

// In place if `in` and `out` are the same array.
template <class T>
Status check_call(Communicator& world, OperationKind kind, ReduceOp op, std::span<T> in,
                  std::span<T> out) {
  const int ranks = world.size(), rank = world.rank();
  const bool is_scattered =
      kind == OperationKind::kReduceScatter || kind == OperationKind::kReduceScatterV;
  const std::size_t count = is_scattered ? in.size() / static_cast<std::size_t>(ranks) : in.size();
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = element_of<T>(rank, ranks, i);
  PACELINE_TRY(call(world, kind, op, in, out, count));
  if (kind == OperationKind::kReduce && rank != root_of(world)) return {};
  const std::string what = std::string(name(kind)) + " " + std::string(name(op)) + " of " +
                           std::to_string(count) + " x " + std::string(name(kDataTypeOf<T>));
  return check_part<T>(what, out.first(count), op, ranks,
                       is_scattered ? static_cast<std::size_t>(rank) * count : 0);
}

template <class T>
Status check_type(Communicator& world, OperationKind kind, bool registered) {
  for (const std::size_t count : kCounts) {
    const std::size_t all = count * static_cast<std::size_t>(world.size());
    std::vector<T> in(all), out(all);
    Buffer in_buffer, out_buffer;
    std::span<T> from(in), to(out);
    if (registered) {
      PACELINE_TRY_ASSIGN(in_buffer, Buffer::allocate(all * sizeof(T)));
      PACELINE_TRY_ASSIGN(out_buffer, Buffer::allocate(all * sizeof(T)));
      from = in_buffer.as<T>();
      to = out_buffer.as<T>();
    }
    for (const ReduceOp op : kOps) {
      PACELINE_TRY(check_call(world, kind, op, from, to));
      if (kind == OperationKind::kAllReduce) PACELINE_TRY(check_call(world, kind, op, from, from));
    }
  }
  return {};
}

Status check_kind(Communicator& world, OperationKind kind, bool registered = false) {
  for (const DataType type : kTypes) {
    const Status status = with_type(type, [&]<class T>(T) -> Status {
      if constexpr (std::is_floating_point_v<T> || !std::is_arithmetic_v<T>) {
        return check_type<T>(world, kind, registered);
      } else {
        return {};
      }
    });
    PACELINE_TRY(status);
  }
  return {};
}

// From place to place: the largest number, a negative one, one of each rank, and subnormals.
double part_of_average(int rank, std::size_t place) {
  const double kinds[] = {65504, -60000, 30000 + 8000.0 * (rank % 4), std::ldexp(rank % 2, -24)};
  return kinds[place % 4];
}

Status check_average_of(Communicator& world, OperationKind kind, std::span<Float16> in,
                        std::span<Float16> out) {
  const int ranks = world.size(), rank = world.rank();
  const bool is_scattered =
      kind == OperationKind::kReduceScatter || kind == OperationKind::kReduceScatterV;
  const std::size_t count = is_scattered ? in.size() / static_cast<std::size_t>(ranks) : in.size();
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = value_of<Float16>(part_of_average(rank, i));
  PACELINE_TRY(call(world, kind, ReduceOp::kAvg, in, out, count));
  if (kind == OperationKind::kReduce && rank != root_of(world)) return {};
  const std::size_t first = is_scattered ? static_cast<std::size_t>(rank) * count : 0;
  for (std::size_t i = 0; i < count; ++i) {
    double average = 0;
    for (int other = 0; other < ranks; ++other)
      average += part_of_average(other, first + i) / ranks;
    const double result = number_of(out[i]);
    // Each reduction rounds once.
    const double most = ranks * (std::abs(average) / 2048 + 3e-8);
    if (!(std::abs(result - average) <= most))
      return wrong(std::string(name(kind)) + " of " + std::to_string(count) + ": element " +
                   std::to_string(i) + " is " + std::to_string(result) + ", not " +
                   std::to_string(average));
  }
  return {};
}

Status check_average(Communicator& world, OperationKind kind, bool registered = false) {
  for (const std::size_t count : kCounts) {
    const std::size_t all = count * static_cast<std::size_t>(world.size());
    std::vector<Float16> array(all), result(all);
    PACELINE_TRY(check_average_of(world, kind, array, result));
    if (!registered) continue;
    PACELINE_TRY_ASSIGN(Buffer in, Buffer::allocate(all * sizeof(Float16)));
    PACELINE_TRY_ASSIGN(Buffer out, Buffer::allocate(all * sizeof(Float16)));
    PACELINE_TRY(check_average_of(world, kind, in.as<Float16>(), out.as<Float16>()));
  }
  return {};
}

Status check_all(Communicator& world) {
  for (const OperationKind kind : kKinds) {
    PACELINE_TRY(check_kind(world, kind));
    PACELINE_TRY(check_average(world, kind));
  }
  return {};
}

void expect_rule(const RunOptions& options, const std::function<Status(Communicator&)>& body) {
  const Status status = run_ranks(options, body);
  EXPECT_TRUE(status.ok()) << name(options.mode) << " " << options.algorithm << ": "
                           << status.to_string();
}

class Extremes : public ::testing::TestWithParam<std::tuple<Mode, int>> {
 protected:
  static RunOptions options() {
    return {
        .mode = std::get<0>(GetParam()), .ranks = std::get<1>(GetParam()), .segment_bytes = 1024};
  }
};

TEST_P(Extremes, FollowOneRuleUnderEveryContract) {
  for (const Determinism determinism :
       {Determinism::kFast, Determinism::kRunStable, Determinism::kPlacementStable}) {
    RunOptions with = options();
    with.determinism = determinism;
    expect_rule(with, check_all);
  }
}

TEST_P(Extremes, FollowOneRuleByEveryAlgorithm) {
  for (const Algorithm& algorithm : algorithms()) {
    if (!reduces(algorithm.kind)) continue;
    RunOptions with = options();
    with.algorithm = algorithm.name;
    expect_rule(with, [&](Communicator& world) -> Status {
      PACELINE_TRY(check_kind(world, algorithm.kind));
      return check_average(world, algorithm.kind);
    });
  }
}

TEST(ExtremesInSharedMemory, FollowOneRuleByEveryMethod) {
  for (const ShmMethod method :
       {ShmMethod::kEager, ShmMethod::kGathered, ShmMethod::kPipelined, ShmMethod::kZeroCopy}) {
    for (const Mode mode : {Mode::kDirectThreads, Mode::kGatheringThreads}) {
      expect_rule({.mode = mode, .ranks = 3, .shared = {.method = [=](int) { return method; }}},
                  [](Communicator& world) -> Status {
                    for (const bool registered : {false, true}) {
                      for (const OperationKind kind :
                           {OperationKind::kAllReduce, OperationKind::kReduceScatter}) {
                        PACELINE_TRY(check_kind(world, kind, registered));
                        PACELINE_TRY(check_average(world, kind, registered));
                      }
                    }
                    return {};
                  });
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Modes, Extremes,
    ::testing::Combine(::testing::Values(Mode::kSimulation, Mode::kThreads, Mode::kProcesses,
                                         Mode::kSharedMemoryThreads, Mode::kDirect,
                                         Mode::kDirectThreads, Mode::kGatheringThreads),
                       ::testing::Values(2, 3, 5)),
    [](const auto& instance) {
      return name(std::get<0>(instance.param)) + "_" + std::to_string(std::get<1>(instance.param)) +
             "_ranks";
    });

}  // namespace
}  // namespace paceline::testing
