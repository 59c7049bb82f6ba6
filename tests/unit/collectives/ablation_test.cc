// PACELINE_ABLATE=comm: operations end at once, without the other ranks.

#include "comm/base/ablation.h"

#include <array>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <latch>
#include <span>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <paceline/communicator.h>
#include <paceline/gradient_pipeline.h>
#include <paceline/paceline.h>

namespace paceline::testing {
namespace {

using Ints = std::vector<int>;

class Ablated : public ::testing::Test {
 protected:
  Ablated() { ::setenv("PACELINE_ABLATE", "comm", 1); }
  ~Ablated() override { ::unsetenv("PACELINE_ABLATE"); }

  static void run(int ranks, const std::function<void(Communicator& world)>& body) {
    const UniqueId id = make_unique_id().value();
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        auto world = Communicator::init(id, rank, ranks, {.timeout_ms = std::chrono::seconds(30)});
        ASSERT_TRUE(world.ok()) << world.status().to_string();
        body(*world);
        const Status closed = world->close();
        EXPECT_TRUE(closed.ok()) << closed.to_string();
      });
    for (std::thread& thread : threads) thread.join();
  }
};

TEST(Ablation, IsWrittenAsItIsRead) {
  for (const char* const text : {"comm", "input", "comm,input"})
    EXPECT_EQ(Ablation::parse(text).value().to_text(), text);
  EXPECT_EQ(Ablation::parse("input,comm").value().to_text(), "comm,input");
  EXPECT_EQ(Ablation::parse("input,comm").value().words(),
            "without communication and with repeated input");
  for (const char* const text : {"", "com", "comm,", "comm,comm", "comm input", "compute"})
    EXPECT_FALSE(Ablation::parse(text).has_value()) << text;
  EXPECT_FALSE(Ablation().is_any());
}

TEST_F(Ablated, ReductionsGiveTheInput) {
  run(3, [](Communicator& world) {
    if (world.rank() != 1) return;  // the others call nothing
    const Ints in{1, 2, 3};
    for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kAvg, ReduceOp::kMax}) {
      Ints out(3, -1);
      EXPECT_TRUE(world.all_reduce(in.data(), out.data(), 3, DataType::kInt32, op).ok());
      EXPECT_EQ(out, in);
    }
    Ints out(1, -1);
    EXPECT_TRUE(world.reduce_scatter(in.data(), out.data(), 1, DataType::kInt32).ok());
    EXPECT_EQ(out, Ints{2});
    Ints same = in;
    const Work work = world.all_reduce_async(same.data(), same.data(), 3, DataType::kInt32);
    EXPECT_TRUE(work.test());
    EXPECT_TRUE(work.wait().ok());
    EXPECT_EQ(same, in);
    Ints reduced(3, -1);
    EXPECT_TRUE(
        world.reduce(in.data(), reduced.data(), 3, DataType::kInt32, ReduceOp::kSum, 1).ok());
    EXPECT_EQ(reduced, in);
    EXPECT_TRUE(world.reduce(in.data(), nullptr, 3, DataType::kInt32, ReduceOp::kSum, 2).ok());
  });
}

TEST_F(Ablated, OtherBlocksAreCopiesOfTheOwn) {
  run(3, [](Communicator& world) {
    if (world.rank() != 1) return;
    const Ints own{7, 8};
    Ints all(6, -1);
    EXPECT_TRUE(world.all_gather(own.data(), all.data(), 2, DataType::kInt32).ok());
    EXPECT_EQ(all, (Ints{7, 8, 7, 8, 7, 8}));
    Ints in_place{0, 0, 5, 6, 0, 0};
    EXPECT_TRUE(world.all_gather(&in_place[2], in_place.data(), 2, DataType::kInt32).ok());
    EXPECT_EQ(in_place, (Ints{5, 6, 5, 6, 5, 6}));
    const std::array<std::size_t, 3> counts{3, 2, 1};
    EXPECT_TRUE(world.all_gather_v(own.data(), all.data(), counts, DataType::kInt32).ok());
    EXPECT_EQ(all, (Ints{7, 8, 0, 7, 8, 7}));
    const Ints sent{1, 2, 3, 4, 5, 6};
    EXPECT_TRUE(world.all_to_all(sent.data(), all.data(), 2, DataType::kInt32).ok());
    EXPECT_EQ(all, (Ints{3, 4, 3, 4, 3, 4}));
    const std::array<std::size_t, 3> received{1, 2, 3};
    EXPECT_TRUE(
        world.all_to_all_v(sent.data(), counts, all.data(), received, DataType::kInt32).ok());
    EXPECT_EQ(all, (Ints{4, 4, 5, 4, 5, 0}));
    EXPECT_TRUE(world.gather(own.data(), nullptr, 2, DataType::kInt32, 0).ok());
    EXPECT_TRUE(world.gather(own.data(), all.data(), 2, DataType::kInt32, 1).ok());
    EXPECT_EQ(all, (Ints{7, 8, 7, 8, 7, 8}));
  });
}

TEST_F(Ablated, BuffersWithoutAnInputAreZeros) {
  run(3, [](Communicator& world) {
    if (world.rank() != 1) return;
    Ints buffer{4, 5};
    EXPECT_TRUE(world.broadcast(buffer.data(), 2, DataType::kInt32, 0).ok());
    EXPECT_EQ(buffer, (Ints{4, 5})) << "the buffer stays as it is";
    EXPECT_TRUE(world.scatter(nullptr, buffer.data(), 2, DataType::kInt32, 0).ok());
    EXPECT_EQ(buffer, (Ints{0, 0}));
    const Ints blocks{1, 2, 3, 4, 5, 6};
    EXPECT_TRUE(world.scatter(blocks.data(), buffer.data(), 2, DataType::kInt32, 1).ok());
    EXPECT_EQ(buffer, (Ints{3, 4}));
    EXPECT_TRUE(world.send(buffer.data(), 2, DataType::kInt32, 0).ok());
    EXPECT_TRUE(world.receive(buffer.data(), 2, DataType::kInt32, 0).ok());
    EXPECT_EQ(buffer, (Ints{0, 0}));
    int to_self = 9, from_self = 0, from_other = 9;
    const Message messages[] = {Message::received(&from_other, 1, DataType::kInt32, 2),
                                Message::received(&from_self, 1, DataType::kInt32, 1),
                                Message::sent(&to_self, 1, DataType::kInt32, 2),
                                Message::sent(&to_self, 1, DataType::kInt32, 1)};
    EXPECT_TRUE(world.exchange(messages).ok());
    EXPECT_EQ(from_self, 9);
    EXPECT_EQ(from_other, 0);
    EXPECT_TRUE(world.barrier().ok());
    EXPECT_EQ(world.stats().messages_sent, 0u);
  });
}

TEST_F(Ablated, WrongCallsAreRefused) {
  run(2, [](Communicator& world) {
    int value = 0;
    EXPECT_EQ(world.broadcast(&value, 1, DataType::kInt32, 2).code(), Code::kInvalidArgument);
    EXPECT_EQ(world.receive(&value, 1, DataType::kInt32, 2).code(), Code::kInvalidArgument);
  });
}

TEST_F(Ablated, SplitsAreRealThoughRanksAreOutOfStep) {
  run(4, [](Communicator& world) {
    for (int i = 0; i < 3 * world.rank(); ++i) EXPECT_TRUE(world.barrier().ok());
    const auto made = world.split(world.rank() % 2, -world.rank());
    ASSERT_TRUE(made.ok()) << made.status().to_string();
    Communicator part = std::move(**world.split(world.rank() % 2, -world.rank()));
    EXPECT_EQ(part.size(), 2);
    EXPECT_EQ(part.rank(), world.rank() < 2 ? 1 : 0);
    int value = world.rank();
    EXPECT_TRUE(part.all_reduce(std::span(&value, 1)).ok());
    EXPECT_EQ(value, world.rank());
    EXPECT_TRUE(part.close().ok());
    EXPECT_EQ(part.barrier().code(), Code::kInvalidArgument) << "it is closed";
  });
}

TEST_F(Ablated, AnAbortReachesRanksThatClose) {
  const UniqueId id = make_unique_id().value();
  std::latch called(1);  // before the abort: init() of rank 1 may fail after it
  const auto body = [&](int rank) {
    Communicator world = Communicator::init(id, rank, 2).value();
    int value = 1;
    if (rank == 0) {
      called.wait();
      world.abort();
    }
    EXPECT_EQ(world.all_reduce(std::span(&value, 1)).ok(), rank != 0);
    if (rank == 1) called.count_down();
    EXPECT_EQ(world.close().code(), Code::kCancelled);
  };
  std::thread other(body, 1);
  body(0);
  other.join();
}

// Each rank makes its own number of steps, with each codec.
TEST_F(Ablated, PipelinesReachTheirEnd) {
  constexpr int kSteps = 4;
  const std::vector<Parameter> parameters{{"a", 3000}, {"b", 70'000}, {"c", 1}};
  run(3, [&](Communicator& world) {
    for (std::size_t i = 0; i < kCodecs; ++i) {
      const auto codec = static_cast<Codec>(i);
      GradientOptions options{.computes_norm = true, .codec = codec};
      options.forces_codec = codec != Codec::kNone && codec != Codec::kAuto;
      auto pipeline = GradientPipeline::create(world, parameters, options);
      ASSERT_TRUE(pipeline.ok()) << pipeline.status().to_string();
      for (int step = 0; step < kSteps + world.rank(); ++step) {
        for (std::size_t g = parameters.size(); g-- > 0;) {
          for (float& one : pipeline->gradient<float>(g)) one = 1;
          EXPECT_TRUE(pipeline->ready(g).ok());
        }
        const auto ended = pipeline->wait();
        ASSERT_TRUE(ended.ok()) << name(codec) << ": " << ended.status().to_string();
        EXPECT_EQ(ended->ranks, 3);
      }
      const auto joined = pipeline->join();
      EXPECT_TRUE(joined.ok() && !joined->has_value()) << "all have joined";
    }
  });
}

TEST_F(Ablated, TheInterfaceForCIsAblatedToo) {
  plUniqueId id;
  ASSERT_EQ(plGetUniqueId(&id), plSuccess);
  const auto body = [&](int rank) {
    plComm_t comm = nullptr;
    ASSERT_EQ(plCommInitRank(&comm, 2, id, rank), plSuccess);
    float in = 5, out = 0;
    for (int i = 0; i <= rank; ++i)
      EXPECT_EQ(plAllReduce(&in, &out, 1, plFloat32, plSum, comm, nullptr), plSuccess);
    EXPECT_EQ(plCommFinalize(comm), plSuccess);
    EXPECT_EQ(out, 5);
    EXPECT_EQ(plCommDestroy(comm), plSuccess);
  };
  std::thread other(body, 1);
  body(0);
  other.join();
}

}  // namespace
}  // namespace paceline::testing
