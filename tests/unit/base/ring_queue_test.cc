#include "comm/base/ring_queue.h"

#include <deque>
#include <memory>

#include <gtest/gtest.h>

#include "comm/base/random.h"

namespace paceline {
namespace {

TEST(RingQueue, DoesWhatADequeDoes) {
  Random random(1);
  RingQueue<int> queue;
  std::deque<int> oracle;
  for (int i = 0; i < 10'000; ++i) {
    // Phases in which it grows and phases in which it empties.
    if (random.chance(i / 500 % 2 == 0 ? 0.7 : 0.3)) {
      queue.push_back() = i;
      oracle.push_back(i);
    } else if (!oracle.empty()) {
      EXPECT_EQ(queue.front(), oracle.front());
      queue.pop_front();
      oracle.pop_front();
    }
    ASSERT_EQ(queue.size(), oracle.size());
    ASSERT_EQ(queue.empty(), oracle.empty());
  }
}

TEST(RingQueue, KeepsNothingThatHasLeft) {
  RingQueue<std::shared_ptr<int>> queue;
  const auto element = std::make_shared<int>(1);
  queue.push_back() = element;
  EXPECT_EQ(element.use_count(), 2);
  EXPECT_EQ(queue.front(), element);
  queue.pop_front();
  EXPECT_EQ(element.use_count(), 1);
}

}  // namespace
}  // namespace paceline
