#include "launcher/head/agent_link.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "tests/unit/launcher/scripted_head.h"

namespace paceline::launcher {
namespace {

class AgentLinkTest : public ::testing::Test {
 protected:
  void listen(const std::string& name) {
    link_.open([this, name](const messages::FromAgent&) { heard_ += name + " heard\n"; },
               [this, name](const Status& why) {
                 heard_ += name + " was told the end: " + std::string(why.text()) + "\n";
                 loop_.stop();
               });
  }

  SystemClock clock_;
  EventLoop loop_{clock_};
  ScriptedJob* const agent_ = new ScriptedJob(loop_);  // the link's
  AgentLink link_{loop_, std::unique_ptr<AgentChannel>(agent_)};
  std::string heard_;
};

TEST_F(AgentLinkTest, TheLastListenerHears) {
  listen("first");
  agent_->say(ScriptedJob::alive());
  listen("second");
  agent_->say(ScriptedJob::alive());
  agent_->vanish();
  EXPECT_EQ(heard_, "first heard\nsecond heard\nsecond was told the end: \n");
}

TEST_F(AgentLinkTest, AListenerIsToldAnEndThatCameBeforeIt) {
  listen("first");
  agent_->vanish();
  listen("second");
  EXPECT_EQ(heard_, "first was told the end: \n") << "handlers are called by the loop";
  loop_.run().value();
  EXPECT_EQ(heard_, "first was told the end: \nsecond was told the end: \n");
}

TEST_F(AgentLinkTest, TheEndIsToldToNobodyAfterTheLink) {
  auto* const agent = new ScriptedJob(loop_);
  {
    AgentLink link(loop_, std::unique_ptr<AgentChannel>(agent));
    link.open([](const messages::FromAgent&) {}, [](const Status&) {});
    agent->vanish();
    link.open([](const messages::FromAgent&) {}, [this](const Status&) { heard_ += "told\n"; });
  }
  loop_.after(std::chrono::milliseconds(5), [this] { loop_.stop(); });
  loop_.run().value();
  EXPECT_EQ(heard_, "");
}

}  // namespace
}  // namespace paceline::launcher
