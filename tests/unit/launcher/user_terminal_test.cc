#include "launcher/head/user_terminal.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include "launcher/system/pseudo_terminal.h"
#include "launcher/system/system.h"

namespace paceline::launcher {
namespace {

// It controls no session, so this process may read it.
class UserTerminalTest : public ::testing::Test {
 protected:
  termios modes() const { return *terminal_modes(pair_.terminal.get()); }
  void set(const termios& modes) {
    ASSERT_EQ(::tcsetattr(pair_.terminal.get(), TCSANOW, &modes), 0);
  }
  bool is_by_line() const { return (modes().c_lflag & ICANON) != 0; }

  PseudoTerminal pair_ = open_pseudo_terminal().value();
  UserTerminal terminal_{pair_.terminal.get()};
};

TEST_F(UserTerminalTest, IsReadByteByByteAndGivenBackAsItWas) {
  const termios before = modes();
  EXPECT_TRUE(terminal_.take());
  EXPECT_TRUE(terminal_.take());
  EXPECT_EQ(modes().c_lflag & (ICANON | ECHO | ISIG), tcflag_t{ISIG});
  terminal_.give_back();
  EXPECT_EQ(modes().c_lflag, before.c_lflag);
  EXPECT_EQ(modes().c_iflag, before.c_iflag);
  EXPECT_EQ(modes().c_cc[VEOF], before.c_cc[VEOF]);
}

TEST_F(UserTerminalTest, AnotherProgramThatHasSetItUpKeepsIt) {
  termios pager = modes();
  pager.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  set(pager);
  EXPECT_FALSE(terminal_.take());
  terminal_.give_back();
  EXPECT_EQ(modes().c_lflag, pager.c_lflag);
  termios shell = pager;
  shell.c_lflag |= ICANON;
  set(shell);
  EXPECT_TRUE(terminal_.take());
  set(pager);
  terminal_.give_back();
  EXPECT_EQ(modes().c_lflag, pager.c_lflag);
}

TEST_F(UserTerminalTest, HasWhatWasTypedBefore) {
  const std::string typed = "a\nbc\n\4d\4\4rest";
  ASSERT_EQ(::write(pair_.controller.get(), typed.data(), typed.size()), std::ssize(typed));
  EXPECT_TRUE(terminal_.take());
  EXPECT_EQ(terminal_.typed_ahead(), typed);
  EXPECT_EQ(terminal_.typed_ahead(), "");
}

TEST_F(UserTerminalTest, AReadDoesNotWait) {
  EXPECT_TRUE(terminal_.take());
  char byte = 0;
  EXPECT_EQ(::read(pair_.terminal.get(), &byte, 1), 0);
  EXPECT_FALSE(terminal_.has_hung_up());
  pair_.controller.reset();
  EXPECT_TRUE(terminal_.has_hung_up());
  EXPECT_TRUE(terminal_.take()) << "a read says so";
}

// A shell that edits lines reads byte by byte. What was typed meanwhile has no end of a line.
TEST_F(UserTerminalTest, MakesUpNoEndOfTheInput) {
  termios editing = modes();
  editing.c_lflag &= ~static_cast<tcflag_t>(ICANON);
  editing.c_iflag &= ~static_cast<tcflag_t>(ICRNL);
  const termios before = modes();
  set(editing);
  ASSERT_EQ(::write(pair_.controller.get(), "x\r", 2), 2);
  pollfd arrived{.fd = pair_.terminal.get(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(::poll(&arrived, 1, 5000), 1);
  set(before);
  EXPECT_TRUE(terminal_.take());
  EXPECT_EQ(terminal_.typed_ahead(), "x\r");
}

TEST_F(UserTerminalTest, IsSetUpAgainOnceAShellHasRestoredIt) {
  const termios before = modes();
  EXPECT_TRUE(terminal_.take());
  set(before);
  EXPECT_TRUE(terminal_.take());
  EXPECT_FALSE(is_by_line());
}

TEST(Terminals, ADescriptorThatIsNoTerminalHasNoModes) {
  EXPECT_FALSE(terminal_at(open_null()->get()).has_value());
}

}  // namespace
}  // namespace paceline::launcher
