#include "comm/base/function_ref.h"

#include <memory>
#include <type_traits>

#include <gtest/gtest.h>

namespace paceline {
namespace {

int call(FunctionRef<int(int)> function, int with) { return function(with); }
int twice(int value) { return 2 * value; }

TEST(FunctionRef, CallsLambdasFunctionsAndObjects) {
  const int base = 40;
  EXPECT_EQ(call([base](int value) { return base + value; }, 2), 42);
  EXPECT_EQ(call(twice, 21), 42);
  const struct {
    int operator()(int value) const { return value + 1; }
  } next;
  EXPECT_EQ(call(next, 41), 42);
}

TEST(FunctionRef, RefersToTheCallableAndDoesNotCopyIt) {
  struct Counter {
    Counter() = default;
    Counter(const Counter&) = delete;
    void operator()() { ++calls; }
    int calls = 0;
  } counter;
  const FunctionRef<void()> reference(counter);
  const FunctionRef<void()> copy = reference;
  reference();
  copy();
  EXPECT_EQ(counter.calls, 2);
}

TEST(FunctionRef, PassesReferencesAndMovesValues) {
  int changed = 0;
  const auto take = [&changed](std::unique_ptr<int> owned, int& into) { into = changed = *owned; };
  int target = 0;
  const FunctionRef<void(std::unique_ptr<int>, int&)> reference = take;
  reference(std::make_unique<int>(7), target);
  EXPECT_EQ(changed, 7);
  EXPECT_EQ(target, 7);
}

TEST(FunctionRef, TakesOnlyWhatFits) {
  const auto of_text = [](const char*) { return 1; };
  static_assert(!std::is_constructible_v<FunctionRef<int(int)>, decltype(of_text)>);
  static_assert(std::is_constructible_v<FunctionRef<long(short)>, decltype(twice)>);
  static_assert(std::is_trivially_copyable_v<FunctionRef<int(int)>>);
  static_assert(sizeof(FunctionRef<int(int)>) == 2 * sizeof(void*));
  EXPECT_EQ(of_text(""), 1);
}

}  // namespace
}  // namespace paceline
