#include "collectives/c_interface/of_thread.h"

#include <array>
#include <atomic>
#include <thread>

#include <gtest/gtest.h>

namespace paceline::c_interface {
namespace {

struct Thing {
  int value = 0;
};

// If it is constructed before the value of of_thread(), it is destroyed after it.
struct Early {
  ~Early() {
    if (into == nullptr) return;
    *into = &of_thread<Thing>();
    is_alike = *into == &of_thread<Thing>();
  }
  Thing** into = nullptr;
  static inline std::atomic<bool> is_alike{false};
};
thread_local Early early;

TEST(OfThread, WhatIsDestroyedLaterGetsOneOfItsThread) {
  std::array<Thing*, 2> things{};
  for (Thing*& thing : things) {
    std::thread([&thing] {
      early.into = &thing;
      of_thread<Thing>().value = 1;
    }).join();
    EXPECT_TRUE(Early::is_alike.exchange(false));
    EXPECT_EQ(thing->value, 0) << "its own is gone";
  }
  EXPECT_NE(things[0], things[1]);
  for (const Thing* thing : things) delete thing;
}

}  // namespace
}  // namespace paceline::c_interface
