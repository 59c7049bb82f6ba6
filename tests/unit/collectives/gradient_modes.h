// Bodies of tests of gradient pipelines, run in every mode.
#pragma once

#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "tests/harness/ranks.h"

namespace paceline::testing {

class Gradients : public ::testing::TestWithParam<Mode> {
 protected:
  using Body = std::function<Status(Communicator&, int rank, int size)>;

  Status status_of(int ranks, const Body& body) {
    return run_ranks({.mode = GetParam(), .ranks = ranks},
                     [&](Communicator& world) { return body(world, world.rank(), world.size()); });
  }
  void run(int ranks, const Body& body) {
    const Status status = status_of(ranks, body);
    EXPECT_TRUE(status.ok()) << status.to_string();
  }
};

}  // namespace paceline::testing
