#include "launcher/agent/rank_stop.h"

#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>

namespace paceline::launcher {
namespace {

using std::chrono::milliseconds;
using Order = std::tuple<int, messages::Reach, bool>;

class RankStopTest : public ::testing::Test {
 protected:
  // Until SIGKILL has been sent.
  std::vector<Order> stopped_by(int signal, bool signals_groups) {
    EXPECT_TRUE(stop_.begin(milliseconds(20), signals_groups));
    messages::Stop order;
    order.set_signal(signal);
    order.set_grace_ns(std::chrono::nanoseconds(milliseconds(20)).count());
    loop_.after(std::chrono::seconds(20), [this] { loop_.stop(); });
    loop_.after(Duration::zero(), [this, order] { stop_.order(order); });
    EXPECT_TRUE(loop_.run().ok());
    return orders_;
  }
  std::vector<Order> passed_on(int signal, bool signals_groups) {
    EXPECT_TRUE(stop_.begin(milliseconds(20), signals_groups));
    stop_.pass_on(signal);
    return orders_;
  }

  SystemClock clock_;
  EventLoop loop_{clock_};
  std::vector<Order> orders_;
  RankStop stop_{loop_,
                 {.signal_ranks =
                      [this](const messages::SignalRanks& order) {
                        orders_.emplace_back(order.signal(), order.reach(), order.spares_rest());
                        if (order.signal() == SIGKILL) loop_.stop();
                      },
                  .tell = [](const messages::FromAgent&) {}}};
};

TEST_F(RankStopTest, TheMainProcessIsToldFirst) {
  EXPECT_EQ(stopped_by(SIGINT, false),
            (std::vector<Order>{{SIGINT, messages::MAIN_PROCESS, true},
                                {SIGCONT, messages::WHOLE_GROUP, false},
                                {SIGTERM, messages::REST_OF_GROUP, false},
                                {SIGKILL, messages::WHOLE_GROUP, false}}));
}

TEST_F(RankStopTest, OrTheWholeGroup) {
  EXPECT_EQ(stopped_by(SIGTERM, true),
            (std::vector<Order>{{SIGTERM, messages::WHOLE_GROUP, false},
                                {SIGCONT, messages::WHOLE_GROUP, false},
                                {SIGKILL, messages::WHOLE_GROUP, false}}));
}

TEST_F(RankStopTest, SignalsThatStopAndContinueAreForGroups) {
  for (const int signal : {SIGSTOP, SIGCONT, SIGWINCH}) passed_on(signal, false);
  EXPECT_EQ(orders_, (std::vector<Order>{{SIGSTOP, messages::WHOLE_GROUP, false},
                                         {SIGCONT, messages::WHOLE_GROUP, false},
                                         {SIGWINCH, messages::WHOLE_GROUP, false}}));
}

TEST_F(RankStopTest, AWarningIsForTheMainProcess) {
  EXPECT_EQ(passed_on(SIGUSR1, false),
            (std::vector<Order>{{SIGUSR1, messages::MAIN_PROCESS, false}}));
}

}  // namespace
}  // namespace paceline::launcher
