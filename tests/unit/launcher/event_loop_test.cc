#include "launcher/system/event_loop.h"

#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "comm/base/unique_fd.h"

namespace paceline::launcher {
namespace {

using std::chrono::milliseconds;

struct TestPipe {
  TestPipe() {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    read_end.reset(ends[0]);
    write_end.reset(ends[1]);
  }
  void put() const { EXPECT_EQ(::write(write_end.get(), "x", 1), 1); }
  void take() const {
    char byte = 0;
    EXPECT_EQ(::read(read_end.get(), &byte, 1), 1);
  }
  UniqueFd read_end;
  UniqueFd write_end;
};

TEST(EventLoop, TimersComeInOrder) {
  const SystemClock clock;
  EventLoop loop(clock);
  std::string order;
  loop.after(milliseconds(20), [&] { order += 'c', loop.stop(); });
  loop.after(milliseconds(1), [&] { order += 'a'; });
  const auto cancelled = loop.after(milliseconds(2), [&] { order += 'x'; });
  loop.after(milliseconds(0), [&] {
    order += '0';
    loop.cancel(cancelled);
    loop.after(milliseconds(3), [&] { order += 'b'; });
  });
  ASSERT_TRUE(loop.run().ok());
  EXPECT_EQ(order, "0abc");
}

TEST(EventLoop, CallsUntilForgotten) {
  const SystemClock clock;
  EventLoop loop(clock);
  const TestPipe pipe;
  int calls = 0;
  loop.when_readable(pipe.read_end.get(), [&] {
    pipe.take();
    if (++calls < 3) return pipe.put();
    loop.forget_readable(pipe.read_end.get());
    pipe.put();
    loop.after(milliseconds(1), [&] { loop.stop(); });
  });
  pipe.put();
  ASSERT_TRUE(loop.run().ok());
  EXPECT_EQ(calls, 3);
}

TEST(EventLoop, AHandlerThatAnotherOneForgetsIsNotCalled) {
  const SystemClock clock;
  EventLoop loop(clock);
  const TestPipe a;
  const TestPipe b;
  int calls = 0;
  const auto forget_both = [&] {
    ++calls;
    loop.forget_readable(a.read_end.get());
    loop.forget_readable(b.read_end.get());
    loop.after(milliseconds(0), [&] { loop.stop(); });
  };
  loop.when_readable(a.read_end.get(), forget_both);
  loop.when_readable(b.read_end.get(), forget_both);
  a.put();
  b.put();
  ASSERT_TRUE(loop.run().ok());
  EXPECT_EQ(calls, 1);
}

TEST(EventLoop, AHangUpIsReadable) {
  const SystemClock clock;
  EventLoop loop(clock);
  TestPipe pipe;
  loop.when_readable(pipe.read_end.get(), [&] { loop.stop(); });
  pipe.write_end.reset();
  EXPECT_TRUE(loop.run().ok());
}

}  // namespace
}  // namespace paceline::launcher
