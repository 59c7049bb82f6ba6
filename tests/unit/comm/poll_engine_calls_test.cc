// The engine on kernels, and in container profiles, without epoll_pwait2(2).

#include <cerrno>
#include <thread>

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "comm/poll_engine.h"
#include "tests/harness/refused_calls.h"
#include "tests/unit/comm/patience.h"

namespace paceline::testing {
namespace {

// Asks to be driven at intervals, and counts how often it is driven. A busy thread would drive it
// thousands of times, even with little CPU time.
class Ticker final : public Driver {
 public:
  Ticker(PollEngine& engine, Duration every) : engine_(engine), every_(every) {
    const Engine::Baton baton = engine_.hold();
    engine_.attach(*this);
  }
  ~Ticker() override {
    const Engine::Baton baton = engine_.hold();
    engine_.detach(*this);
  }
  bool drive(TimePoint now) override {
    ++drives;
    wake_ = now + every_;
    return false;
  }
  TimePoint wake_at() const override { return wake_; }

  int drives = 0;

 private:
  PollEngine& engine_;
  const Duration every_;
  TimePoint wake_ = TimePoint::min();
};

class Reader final : public FdHandler {
 public:
  bool on_ready(std::uint32_t) override { return has_heard = true; }
  bool has_heard = false;
};

// The parameter is the error with which the system call fails. Older container profiles answer
// EPERM to system calls that they do not know.
class PollEngineWithoutPwait2 : public ::testing::TestWithParam<int> {
 protected:
  // Only the thread that sets the filter is affected.
  void run(FunctionRef<void(PollEngine&)> body) {
    std::thread([&] {
      if (!refuse_system_calls({SYS_epoll_pwait2}, GetParam())) GTEST_SKIP() << "no filter here";
      const auto engine = PollEngine::create({.spin_rounds = 0, .yield_rounds = 0}).value();
      body(*engine);
    }).join();
  }
};

TEST_P(PollEngineWithoutPwait2, SleepsUntilTheDeadline) {
  run([](PollEngine& engine) {
    constexpr Duration kLong = std::chrono::milliseconds(500);
    Ticker ticker(engine, 10 * kLong);
    const TimePoint begin = engine.clock().now();
    EXPECT_FALSE(engine.wait(kNever, Deadline::after(engine.clock(), kLong)));
    EXPECT_GE(engine.clock().now() - begin, kLong);
    EXPECT_LT(ticker.drives, 10) << "it was busy";
  });
}

TEST_P(PollEngineWithoutPwait2, SleepsForLessThanAMillisecondWithoutBeingBusy) {
  run([](PollEngine& engine) {
    Ticker ticker(engine, std::chrono::microseconds(50));
    EXPECT_FALSE(
        engine.wait(kNever, Deadline::after(engine.clock(), std::chrono::milliseconds(200))));
    EXPECT_LE(ticker.drives, 201);
  });
}

TEST_P(PollEngineWithoutPwait2, HearsOfDescriptors) {
  run([](PollEngine& engine) {
    const UniqueFd fd(::eventfd(0, EFD_NONBLOCK));
    Reader reader;
    {
      const Engine::Baton baton = engine.hold();
      ASSERT_TRUE(engine.watch(fd.get(), reader, PollEngine::Interest::kToRead).ok());
    }
    const std::uint64_t one = 1;
    ASSERT_EQ(::write(fd.get(), &one, sizeof one), static_cast<ssize_t>(sizeof one));
    EXPECT_TRUE(engine.wait([&] { return reader.has_heard; },
                            Deadline::after(engine.clock(), std::chrono::seconds(20))));
    const Engine::Baton baton = engine.hold();
    engine.forget(fd.get(), reader);
  });
}

INSTANTIATE_TEST_SUITE_P(WhateverItAnswers, PollEngineWithoutPwait2,
                         ::testing::Values(ENOSYS, EPERM), [](const auto& error) {
                           return error.param == ENOSYS ? "ENOSYS" : "EPERM";
                         });

}  // namespace
}  // namespace paceline::testing
