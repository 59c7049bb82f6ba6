// Each operation by hand, on few elements: what it means, without the definition that plans,
// checker and harness share (collectives/plan/shape.h).

#include <cstdint>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "tests/harness/ranks.h"

namespace paceline::testing {
namespace {

using LongNumbers = std::vector<std::int64_t>;
constexpr DataType kType = DataType::kInt64;

// Of 3 ranks, each with the elements 10 r, 10 r + 1, …; what `operation` leaves in each rank's
// `out`, which begins as zeros.
std::vector<LongNumbers> after(const std::function<Status(Communicator&, const LongNumbers& in,
                                                          LongNumbers& out)>& operation) {
  std::vector<LongNumbers> outs(3, LongNumbers(6, 0));
  const Status status = run_ranks({.mode = Mode::kThreads, .ranks = 3}, [&](Communicator& world) {
    LongNumbers in;
    for (std::int64_t i = 0; i < 6; ++i) in.push_back(10 * world.rank() + i);
    return operation(world, in, outs[static_cast<std::size_t>(world.rank())]);
  });
  EXPECT_TRUE(status.ok()) << status.to_string();
  return outs;
}

TEST(Operations, Broadcast) {
  const auto outs = after([](Communicator& world, const LongNumbers& in, LongNumbers& out) {
    if (world.rank() == 2) out = in;
    return world.broadcast(out.data(), 3, kType, 2);
  });
  EXPECT_EQ(outs, (std::vector<LongNumbers>{
                      {20, 21, 22, 0, 0, 0}, {20, 21, 22, 0, 0, 0}, {20, 21, 22, 23, 24, 25}}));
}

TEST(Operations, Reduce) {
  const auto outs = after([](Communicator& world, const LongNumbers& in, LongNumbers& out) {
    return world.reduce(in.data(), out.data(), 3, kType, ReduceOp::kSum, 1);
  });
  EXPECT_EQ(outs, (std::vector<LongNumbers>{
                      {0, 0, 0, 0, 0, 0}, {30, 33, 36, 0, 0, 0}, {0, 0, 0, 0, 0, 0}}));
}

TEST(Operations, AllReduce) {
  const auto outs = after([](Communicator& world, const LongNumbers& in, LongNumbers& out) {
    return world.all_reduce(in.data(), out.data(), 2, kType, ReduceOp::kMax);
  });
  EXPECT_EQ(outs, (std::vector<LongNumbers>(3, {20, 21, 0, 0, 0, 0})));
}

TEST(Operations, ReduceScatter) {
  const auto outs = after([](Communicator& world, const LongNumbers& in, LongNumbers& out) {
    return world.reduce_scatter(in.data(), out.data(), 2, kType);
  });
  EXPECT_EQ(outs, (std::vector<LongNumbers>{
                      {30, 33, 0, 0, 0, 0}, {36, 39, 0, 0, 0, 0}, {42, 45, 0, 0, 0, 0}}));
}

TEST(Operations, AllGather) {
  const auto outs = after([](Communicator& world, const LongNumbers& in, LongNumbers& out) {
    return world.all_gather(in.data(), out.data(), 2, kType);
  });
  EXPECT_EQ(outs, (std::vector<LongNumbers>(3, {0, 1, 10, 11, 20, 21})));
}

TEST(Operations, Gather) {
  const auto outs = after([](Communicator& world, const LongNumbers& in, LongNumbers& out) {
    return world.gather(in.data(), out.data(), 2, kType, 0);
  });
  EXPECT_EQ(outs, (std::vector<LongNumbers>{
                      {0, 1, 10, 11, 20, 21}, {0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0}}));
}

TEST(Operations, Scatter) {
  const auto outs = after([](Communicator& world, const LongNumbers& in, LongNumbers& out) {
    return world.scatter(in.data(), out.data(), 2, kType, 1);
  });
  EXPECT_EQ(outs, (std::vector<LongNumbers>{
                      {10, 11, 0, 0, 0, 0}, {12, 13, 0, 0, 0, 0}, {14, 15, 0, 0, 0, 0}}));
}

TEST(Operations, AllToAll) {
  const auto outs = after([](Communicator& world, const LongNumbers& in, LongNumbers& out) {
    return world.all_to_all(in.data(), out.data(), 2, kType);
  });
  EXPECT_EQ(outs, (std::vector<LongNumbers>{
                      {0, 1, 10, 11, 20, 21}, {2, 3, 12, 13, 22, 23}, {4, 5, 14, 15, 24, 25}}));
}

TEST(Operations, BlocksMayHaveCountsOfTheirOwn) {
  const std::vector<std::size_t> counts{1, 0, 3};
  EXPECT_EQ(after([&](Communicator& world, const LongNumbers& in, LongNumbers& out) {
              return world.all_gather_v(in.data(), out.data(), counts, kType);
            }),
            (std::vector<LongNumbers>(3, {0, 20, 21, 22, 0, 0})));
  EXPECT_EQ(
      after([&](Communicator& world, const LongNumbers& in, LongNumbers& out) {
        return world.reduce_scatter_v(in.data(), out.data(), counts, kType);
      }),
      (std::vector<LongNumbers>{{30, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0}, {33, 36, 39, 0, 0, 0}}));
  EXPECT_EQ(
      after([&](Communicator& world, const LongNumbers& in, LongNumbers& out) {
        return world.scatter_v(in.data(), out.data(), counts, kType, 1);
      }),
      (std::vector<LongNumbers>{{10, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0}, {11, 12, 13, 0, 0, 0}}));
  EXPECT_EQ(
      after([&](Communicator& world, const LongNumbers& in, LongNumbers& out) {
        return world.gather_v(in.data(), out.data(), counts, kType, 1);
      }),
      (std::vector<LongNumbers>{{0, 0, 0, 0, 0, 0}, {0, 20, 21, 22, 0, 0}, {0, 0, 0, 0, 0, 0}}));
}

TEST(Operations, AnExchangeMayHaveCountsOfItsOwn) {
  // Rank a sends b elements to rank b, so rank b receives b from each.
  EXPECT_EQ(
      after([](Communicator& world, const LongNumbers& in, LongNumbers& out) {
        const std::vector<std::size_t> send_counts{0, 1, 2};
        const std::vector<std::size_t> recv_counts(3, static_cast<std::size_t>(world.rank()));
        return world.all_to_all_v(in.data(), send_counts, out.data(), recv_counts, kType);
      }),
      (std::vector<LongNumbers>{{0, 0, 0, 0, 0, 0}, {0, 10, 20, 0, 0, 0}, {1, 2, 11, 12, 21, 22}}));
}

TEST(Operations, CountsThatCannotBeAreRefused) {
  const Status status = run_ranks({.mode = Mode::kThreads, .ranks = 2}, [](Communicator& world) {
    LongNumbers in(8, 0), out(8, 0);
    const std::vector<std::size_t> fits{1, 2}, short_one{1}, huge{SIZE_MAX, 2}, other{2, 1};
    const Status refused[] = {world.all_gather_v(in.data(), out.data(), short_one, kType),
                              world.all_gather_v(in.data(), out.data(), huge, kType),
                              world.all_to_all_v(in.data(), fits, out.data(), {}, kType),
                              world.all_to_all_v(in.data(), fits, out.data(), other, kType),
                              world.scatter_v(in.data(), out.data(), fits, kType, 2)};
    for (const Status& each : refused) {
      if (each.code() != Code::kInvalidArgument) return each.with_context("not refused");
    }
    return world.close();
  });
  EXPECT_TRUE(status.ok()) << status.to_string();
}

TEST(Operations, InPlaceIsWhereNcclHasIt) {
  const auto gathered = after([](Communicator& world, const LongNumbers& in, LongNumbers& out) {
    std::int64_t* const own = out.data() + 2 * world.rank();
    own[0] = in[0], own[1] = in[1];
    return world.all_gather(own, out.data(), 2, kType);
  });
  EXPECT_EQ(gathered, (std::vector<LongNumbers>(3, {0, 1, 10, 11, 20, 21})));
  const auto scattered = after([](Communicator& world, const LongNumbers& in, LongNumbers& out) {
    out = in;
    return world.reduce_scatter(out.data(), out.data() + 2 * world.rank(), 2, kType);
  });
  EXPECT_EQ((LongNumbers{scattered[0][0], scattered[1][2], scattered[2][5]}),
            (LongNumbers{30, 36, 45}));
}

TEST(Operations, BuffersThatOverlapOtherwiseAreRefused) {
  const Status status = run_ranks({.mode = Mode::kThreads, .ranks = 2}, [](Communicator& world) {
    LongNumbers all(12, 0);
    std::int64_t* const at = all.data();
    const Status refused[] = {
        world.all_reduce(at, at + 1, 2, kType), world.all_gather(at + 1, at, 2, kType),
        world.reduce_scatter(at, at + 1, 2, kType), world.all_to_all(at, at, 2, kType),
        world.reduce(at, at + 1, 2, kType, ReduceOp::kSum, world.rank())};
    for (const Status& each : refused) {
      if (each.code() != Code::kInvalidArgument) return each.with_context("not refused");
    }
    return world.close();
  });
  EXPECT_TRUE(status.ok()) << status.to_string();
}

}  // namespace
}  // namespace paceline::testing
