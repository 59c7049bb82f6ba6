// Every operation that can be measured, measured on the library, with its results compared.

#include <gtest/gtest.h>

#include "launcher/tools/measure/probe/loop/library.h"
#include "launcher/tools/measure/probe/loop/measurement.h"
#include "launcher/tools/measure/probe/loop/subject_meeting.h"
#include "tests/harness/ranks.h"

namespace paceline::probe {
namespace {

constexpr int kRanks = 3;

// The row of `bytes`, on each rank.
template <class Judge>
void measure(const Orders& orders, std::size_t bytes, const Judge& judge) {
  const SystemClock clock;
  const Status status = testing::run_ranks(
      {.mode = testing::Mode::kDirectThreads, .ranks = kRanks}, [&](Communicator& world) -> Status {
        Library library(world, false, nullptr);
        SubjectMeeting meeting(library);
        const auto measurement =
            Measurement::create({.subject = library, .meeting = meeting, .clock = clock}, orders)
                .value();
        const Result<Row> row = measurement->measure(bytes);
        if (!row.ok()) return row.status();
        judge(*row);
        return world.close();
      });
  EXPECT_TRUE(status.ok()) << orders.operation << ": " << status.to_string();
}

Orders orders_for(const Operation& operation) {
  Orders orders;
  orders.operation = std::string(operation.name());
  orders.root = kRanks - 1;
  orders.check = true;
  orders.limits = false;
  orders.time_ms = 1;
  orders.high_bytes = 1 << 16;
  return orders;
}

TEST(Operations, HaveRightResultsInPlaceAndNot) {
  for (const Operation& operation : operations()) {
    Orders orders = orders_for(operation);
    for (const bool in_place : {true, false}) {
      orders.in_place = in_place;
      for (const std::size_t bytes : {12u, 6000u, 60'000u}) {
        const std::size_t expected = operation.has_arrays() ? bytes : 0;
        measure(orders, bytes, [&](const Row& row) {
          EXPECT_EQ(row.wrong, 0) << operation.name();
          EXPECT_EQ(row.bytes, expected);
          EXPECT_EQ(row.count, expected / 4);
        });
      }
    }
  }
}

// Three blocks of a float are the least, and of 50 bytes only whole blocks are taken.
TEST(Operations, MoveWholeBlocks) {
  const Orders orders = orders_for(*find_operation("all_gather"));
  measure(orders, 4, [](const Row& row) { EXPECT_EQ(row.bytes, 12u); });
  measure(orders, 50, [](const Row& row) { EXPECT_EQ(row.bytes, 48u); });
}

TEST(Operations, SayWhatLiesInPlace) {
  EXPECT_TRUE(find_operation("broadcast")->is_in_place(false));
  EXPECT_FALSE(find_operation("all_to_all")->is_in_place(true));
  EXPECT_FALSE(find_operation("all_gather")->is_in_place(false));
  EXPECT_EQ(find_operation("scatter")->blocks(4), 4u);
  EXPECT_EQ(find_operation("reduce")->blocks(4), 1u);
  EXPECT_EQ(find_operation("barrier")->blocks(4), 0u);
  EXPECT_FALSE(find_operation("exchange")->is_in_place(true));
  EXPECT_EQ(find_operation("exchange")->blocks(4), 1u);
  EXPECT_FALSE(find_operation("send")->has_place());
  EXPECT_EQ(find_operation("send")->blocks(4), 1u);
}

}  // namespace
}  // namespace paceline::probe
