#include "launcher/agent/rank_terminal.h"

#include <array>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "launcher/head/user_terminal.h"
#include "launcher/system/pseudo_terminal.h"

namespace paceline::launcher {
namespace {

class RankTerminalTest : public ::testing::Test {
 protected:
  void SetUp() override {
    set_window_size(user_.terminal.get(), {.rows = 30, .columns = 90});
    auto made = RankTerminal::make(loop_,
                                   {.like = terminal_at(user_.terminal.get()).value(),
                                    .taken =
                                        [this](std::size_t bytes, bool closed) {
                                          taken_ += bytes;
                                          closed_ |= closed;
                                        },
                                    .shows = [this](std::string_view text) { shown_ += text; }},
                                   rank_);
    ASSERT_TRUE(made.ok()) << made.status().to_string();
    terminal_ = *std::move(made);
  }
  // Until `condition` holds.
  template <class Condition>
  bool run_until(Condition condition) {
    const Deadline deadline = Deadline::after(clock_, std::chrono::seconds(20));
    while (!condition() && deadline.left(clock_.now()) > Duration::zero()) {
      loop_.after(std::chrono::milliseconds(1), [this] { loop_.stop(); });
      EXPECT_TRUE(loop_.run().ok());
    }
    return condition();
  }
  std::string line() {
    std::array<char, 64> bytes;
    const ssize_t got = ::read(rank_.get(), bytes.data(), bytes.size());
    return got >= 0 ? std::string(bytes.data(), static_cast<std::size_t>(got)) : "error";
  }

  SystemClock clock_;
  EventLoop loop_{clock_};
  PseudoTerminal user_ = open_pseudo_terminal().value();
  UniqueFd rank_;
  std::unique_ptr<RankTerminal> terminal_;
  std::string shown_;
  std::size_t taken_ = 0;
  bool closed_ = false;
};

TEST_F(RankTerminalTest, TheRankReadsEditedLinesAndWhatIsTypedIsShown) {
  EXPECT_EQ(::isatty(rank_.get()), 1);
  terminal_->write("wrong\025right\r");  // Ctrl-U
  EXPECT_TRUE(run_until([this] { return shown_.ends_with("right\n"); })) << shown_;
  EXPECT_EQ(line(), "right\n");
  EXPECT_EQ(taken_, 12u);
  terminal_->write("\004");  // Ctrl-D
  EXPECT_EQ(line(), "");
}

TEST_F(RankTerminalTest, HasTheSizeOfTheUsers) {
  EXPECT_EQ(window_size(rank_.get()), (WindowSize{.rows = 30, .columns = 90}));
  messages::WindowSize size;
  size.set_rows(50);
  size.set_columns(120);
  terminal_->resize(size);
  EXPECT_EQ(window_size(rank_.get()), (WindowSize{.rows = 50, .columns = 120}));
}

TEST_F(RankTerminalTest, TellsWhenTheRankHasClosedIt) {
  rank_.reset();
  EXPECT_TRUE(run_until([this] { return closed_; }));
  terminal_->write("lost");
  terminal_->end();
}

}  // namespace
}  // namespace paceline::launcher
