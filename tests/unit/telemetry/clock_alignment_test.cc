#include "telemetry/job/clock_alignment.h"

#include <chrono>
#include <cstdint>

#include <gtest/gtest.h>

#include "comm/base/random.h"

namespace paceline {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TimePoint kEpoch{std::chrono::hours(100)};

// Two clocks, of which one drifts, and messages that take different times there and back.
class SimulatedClocks {
 public:
  SimulatedClocks(std::uint64_t seed, Duration offset, double drift)
      : random_(seed), offset_(offset), drift_(drift) {}

  void pass(Duration time) { now_ += time; }
  // By the other clock.
  TimePoint other() const { return TimePoint(kEpoch + now_); }
  TimePoint own() const {
    const auto drifted = static_cast<std::int64_t>(drift_ * static_cast<double>(now_.count()));
    return kEpoch + now_ + offset_ + Duration(drifted);
  }
  Duration ahead() const { return own() - other(); }

  ClockAlignment::Exchange exchange() {
    const TimePoint asked = own();
    pass(delay());
    const TimePoint told = other();
    pass(delay());
    return {.asked = asked, .told = told, .answered = own()};
  }

 private:
  // 50 us, and sometimes up to 20 ms more in one direction.
  Duration delay() {
    const bool is_slow = random_.below(3) == 0;
    return microseconds(50 + random_.below(20) + (is_slow ? random_.below(20000) : 0));
  }

  Random random_;
  const Duration offset_;
  const double drift_;
  Duration now_{};
};

TEST(ClockAlignment, TheTruthIsWithinTheStatedError) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const double drift = 0.999 * (static_cast<double>(seed % 5) - 2) / 2 * ClockAlignment::kDrift;
    const Duration offset = seed % 2 == 0 ? Duration(seconds(5000)) : Duration(-seconds(7200));
    SimulatedClocks clocks(seed, offset, drift);
    ClockAlignment alignment;
    for (int second = 0; second < 200; ++second) {
      alignment.take(clocks.exchange());
      clocks.pass(milliseconds(900));
      const auto estimate = alignment.estimate(clocks.own());
      ASSERT_TRUE(estimate);
      const Duration wrong = estimate->ahead - clocks.ahead();
      ASSERT_LE(wrong, estimate->error) << "seed " << seed << ", second " << second;
      ASSERT_GE(wrong, -estimate->error) << "seed " << seed << ", second " << second;
    }
    // One of the last exchanges was quick.
    EXPECT_LT(alignment.estimate(clocks.own())->error, milliseconds(1)) << "seed " << seed;
  }
}

TEST(ClockAlignment, TheErrorIsAtMostHalfOfTheBestRoundTrip) {
  ClockAlignment alignment;
  EXPECT_FALSE(alignment.estimate(kEpoch));
  alignment.take({.asked = kEpoch, .told = TimePoint{}, .answered = kEpoch + milliseconds(10)});
  alignment.take({.asked = kEpoch, .told = TimePoint{}, .answered = kEpoch + microseconds(100)});
  alignment.take({.asked = kEpoch, .told = TimePoint{}, .answered = kEpoch - seconds(1)});
  const ClockAlignment::Estimate best{.ahead = kEpoch.time_since_epoch() + microseconds(50),
                                      .error = microseconds(50)};
  EXPECT_EQ(alignment.estimate(kEpoch), best);
  EXPECT_EQ(alignment.estimate(kEpoch + seconds(1))->error, microseconds(80))
      << "it grows by drift";
}

TEST(ClockAlignment, AQuickQuestionAndAQuickAnswerBoundTogether) {
  ClockAlignment alignment;
  const TimePoint told = kEpoch + milliseconds(10);
  alignment.take({.asked = told - microseconds(40), .told = told, .answered = told + seconds(1)});
  alignment.take({.asked = told - seconds(1), .told = told, .answered = told + microseconds(60)});
  EXPECT_EQ(alignment.estimate(kEpoch - seconds(9)),
            (ClockAlignment::Estimate{.ahead = microseconds(10), .error = microseconds(50)}));
}

TEST(ClockAlignment, AfterAJumpTheLatestExchangeCounts) {
  ClockAlignment alignment;
  alignment.take({.asked = kEpoch, .told = kEpoch, .answered = kEpoch + microseconds(10)});
  const TimePoint jumped = kEpoch + seconds(500);
  alignment.take({.asked = jumped, .told = kEpoch, .answered = jumped + milliseconds(2)});
  EXPECT_EQ(alignment.estimate(jumped),
            (ClockAlignment::Estimate{.ahead = seconds(500) + milliseconds(1),
                                      .error = milliseconds(1)}));
}

TEST(ClockAlignment, IsBounded) {
  ClockAlignment alignment;
  alignment.take({.asked = kEpoch, .told = kEpoch, .answered = kEpoch});
  for (std::size_t i = 0; i < ClockAlignment::kMostExchanges; ++i)
    alignment.take({.asked = kEpoch, .told = kEpoch, .answered = kEpoch + milliseconds(2)});
  EXPECT_EQ(alignment.estimate(kEpoch)->error, milliseconds(1));
}

}  // namespace
}  // namespace paceline
