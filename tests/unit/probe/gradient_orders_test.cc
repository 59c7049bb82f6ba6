#include "launcher/tools/measure/probe/gradient/gradient_orders.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::probe {
namespace {

TEST(GradientOrders, WordsComeBack) {
  const GradientOrders orders{.task = GradientTask::kShow,
                              .trace = "bert",
                              .scale = 0.1,
                              .burns = true,
                              .compute_us = 1234.5,
                              .burn_per_us = 1 / 3.0,
                              .reducer = "paceline",
                              .codec = "int8",
                              .warm_ups = 0,
                              .turns = 3,
                              .steps = 7,
                              .timeout_s = 900};
  EXPECT_EQ(to_words(orders).size(), 12u);
  EXPECT_EQ(parse_gradient_orders(to_words(orders)).value(), orders);
}

TEST(GradientOrders, DefaultsAreNotSaid) {
  EXPECT_EQ(to_words(GradientOrders()), std::vector<std::string>());
  EXPECT_EQ(parse_gradient_orders({}).value(), GradientOrders());
  EXPECT_EQ(to_words({.task = GradientTask::kMeasure}), std::vector<std::string>{"task=measure"});
}

TEST(GradientOrders, AnyOtherWordIsRefused) {
  for (const char* word : {"trace",
                           "trace=",
                           "trace=vgg16",
                           "task=rest",
                           "scale=0",
                           "scale=1.1",
                           "scale=nan",
                           "compute=think",
                           "compute_us=-1",
                           "compute_us=nan",
                           "burn_per_us=x",
                           "reducer=",
                           "codec=",
                           "warm_ups=-1",
                           "turns=0",
                           "steps=0",
                           "steps=1.5",
                           "timeout_s=0",
                           "=1",
                           ""}) {
    const std::vector<std::string> words{word};
    EXPECT_EQ(parse_gradient_orders(words).status().text(),
              "'" + std::string(word) + "' is not a valid setting");
  }
}

}  // namespace
}  // namespace paceline::probe
