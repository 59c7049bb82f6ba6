// Operations on arrays: which containers and types they take, and lengths that do not fit.
#include <algorithm>
#include <array>
#include <chrono>
#include <complex>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <paceline/communicator.h>

#include "comm/base/try.h"
#include "tests/harness/ranks.h"

namespace paceline::testing {
namespace {

void run(const std::function<Status(Communicator&, int rank)>& body) {
  const Status status = run_ranks({.mode = Mode::kDirectThreads, .ranks = 3},
                                  [&](Communicator& world) { return body(world, world.rank()); });
  EXPECT_TRUE(status.ok()) << status.to_string();
}

template <class A, class B>
Status expect_same(const A& found, const B& wanted, const char* what) {
  return std::ranges::equal(found, wanted) ? Status() : wrong(what);
}

TEST(Arrays, OfEveryFormAreReduced) {
  run([](Communicator& world, int rank) -> Status {
    std::vector<float> vector(2, static_cast<float>(rank));
    std::array<long long, 2> array{rank, 1};
    unsigned c_array[2] = {static_cast<unsigned>(rank), 1};
    std::vector<std::int16_t> in(2, 7), out(2);
    char letters[1] = {1};
    PACELINE_TRY(world.all_reduce(vector));
    PACELINE_TRY(world.all_reduce(array, ReduceOp::kMax));
    PACELINE_TRY(world.all_reduce(std::span(c_array)));
    PACELINE_TRY(world.all_reduce(std::as_const(in), out, ReduceOp::kAvg));
    PACELINE_TRY(world.all_reduce(letters));
    PACELINE_TRY(world.all_reduce_async(vector, ReduceOp::kMin).wait());
    PACELINE_TRY(expect_same(vector, std::vector<float>{3, 3}, "vector"));
    PACELINE_TRY(expect_same(array, std::array<long long, 2>{2, 1}, "array"));
    PACELINE_TRY(expect_same(c_array, std::array<unsigned, 2>{3, 3}, "C array"));
    PACELINE_TRY(expect_same(out, in, "out of place"));
    return letters[0] == 3 ? Status() : wrong("letters");
  });
}

struct Sample {
  double weight;
  char name[3];
  bool operator==(const Sample&) const = default;
};

TEST(Arrays, OfAnyTypeAreMoved) {
  run([](Communicator& world, int rank) -> Status {
    const auto sample = [](int of) {
      return Sample{.weight = of + 0.5, .name = {static_cast<char>('a' + of), 'x', 'y'}};
    };
    const std::vector own{sample(rank)};
    std::vector<Sample> all(3), back(1);
    PACELINE_TRY(world.all_gather(own, all));
    PACELINE_TRY(expect_same(all, std::vector{sample(0), sample(1), sample(2)}, "all_gather"));
    PACELINE_TRY(world.scatter(all, back, 1));
    PACELINE_TRY(expect_same(back, own, "scatter"));
    std::vector<Sample> none, gathered(3);
    PACELINE_TRY(rank == 2 ? world.gather(own, gathered, 2) : world.gather(own, none, 2));
    if (rank == 2) PACELINE_TRY(expect_same(gathered, all, "gather"));
    std::complex<double> value(rank, -rank);
    PACELINE_TRY(world.broadcast(std::span(&value, 1), 2));
    if (value != std::complex<double>(2, -2)) return wrong("broadcast");
    bool flags[2] = {rank == 0, rank == 1};
    PACELINE_TRY(rank == 0 ? world.send(flags, 1) : rank == 1 ? world.receive(flags, 0) : Status());
    return rank == 2 || (flags[0] && !flags[1]) ? Status() : wrong("a message");
  });
}

TEST(Arrays, OfBlocksAreReducedAndExchanged) {
  run([](Communicator& world, int rank) -> Status {
    const std::vector<double> ones(6, rank + 1.0);
    std::vector<double> block(2), blocks(6), sum(6);
    PACELINE_TRY(world.reduce_scatter(ones, block));
    PACELINE_TRY(expect_same(block, std::vector<double>{6, 6}, "reduce_scatter"));
    PACELINE_TRY(world.all_to_all(ones, blocks));
    PACELINE_TRY(expect_same(blocks, std::vector<double>{1, 1, 2, 2, 3, 3}, "all_to_all"));
    PACELINE_TRY(world.reduce(ones, sum, ReduceOp::kProd, 1));
    return rank != 1 ? Status() : expect_same(sum, std::vector<double>(6, 6.0), "reduce");
  });
}

TEST(Arrays, OfOtherLengthsAreRefused) {
  run([](Communicator& world, int rank) -> Status {
    std::vector<float> two(2), three(3), seven(7);
    for (const Status& status : {world.all_reduce(two, three), world.all_gather(two, seven),
                                 world.reduce_scatter(seven, two), world.all_to_all(seven, seven),
                                 rank == 0 ? world.gather(two, seven, 0)
                                           : Status(Code::kInvalidArgument, Scope::kNone, ""),
                                 rank == 0 ? world.scatter(seven, two, 0)
                                           : Status(Code::kInvalidArgument, Scope::kNone, "")})
      if (status.code() != Code::kInvalidArgument) return wrong(status.to_string());
    if (world.all_reduce(two, three).text() != "an array has 3 elements, and must have 2")
      return wrong(world.all_reduce(two, three).text());
    return world.barrier();
  });
}

// Ranks that meet by an id, because a communicator of parts cannot be split.
void run_joined(const std::function<Status(Communicator&, int rank)>& body) {
  const UniqueId id = make_unique_id().value();
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 3; ++rank)
    ranks.emplace_back([&, rank] {
      Communicator world = Communicator::init(id, rank, 3).value();
      const Status status = body(world, rank);
      EXPECT_TRUE(status.ok()) << rank << ": " << status.to_string();
    });
  for (std::thread& rank : ranks) rank.join();
}

TEST(Works, OfSeveralCommunicatorsAreAwaitedTogether) {
  run_joined([](Communicator& world, int rank) -> Status {
    PACELINE_TRY_ASSIGN(auto split, world.split(0, rank));
    Communicator& other = *split;
    float one = 1, two = 2;
    const Work works[] = {
        other.all_reduce_async(std::span(&one, 1)),
        rank == 0 ? Work() : world.all_reduce_async(std::span(&two, 1)),
    };
    const std::size_t first = wait_any(works);
    if (first > 1 || !works[first].test()) return wrong("wait_any");
    if (rank == 0) PACELINE_TRY(world.all_reduce(std::span(&two, 1)));
    PACELINE_TRY(wait_all(works));
    if (wait_any({}) != 0 || !wait_all({}).ok()) return wrong("no works");
    return one == 3 && two == 6 ? Status() : wrong("the sums");
  });
}

TEST(MovedFrom, CommunicatorsRefuseEveryCall) {
  run_joined([](Communicator& world, int) -> Status {
    Communicator gone = std::move(world);
    world = std::move(gone);
    std::vector<float> data(3);
    const std::vector<std::size_t> counts(3, 1);
    for (const Status& status :
         {gone.barrier(), gone.all_reduce(data), gone.close(), gone.failure(),
          gone.set_timeout(std::chrono::seconds(1)), gone.split(0, 0).status(),
          gone.all_gather_v(data.data(), data.data(), counts, DataType::kFloat32),
          gone.all_reduce_async(data).wait(), gone.all_reduce_many({}, DataType::kFloat32)}) {
      if (status.code() != Code::kInvalidArgument ||
          status.text().find("moved from") == std::string::npos)
        return wrong(status.to_string());
    }
    gone.abort();
    if (gone.size() != 0 || gone.rank() != -1 || gone.stats().operations != 0)
      return wrong("what it returns");
    return world.barrier();
  });
}

}  // namespace
}  // namespace paceline::testing
