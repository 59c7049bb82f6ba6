// An agent with one rank. While the rank runs, another user knocks at the store, so that the agent
// has something to log; what becomes of the line, and of the agent, depends on standard error.

#include "launcher/agent/agent.h"

#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comm/socket.h"
#include "launcher/channel/channel.h"
#include "launcher/system/process.h"
#include "launcher/system/system.h"
#include "tests/unit/launcher/script_start.h"

namespace paceline::launcher {
namespace {

using std::chrono::seconds;

// True once the store has hung up on another user.
bool another_user_is_refused(const SocketAddress& store) {
  constexpr uid_t kNobody = 65534;
  const pid_t child = ::fork();
  if (child == 0) {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
    const bool connected = ::setuid(kNobody) == 0 && ::connect(fd, store.data(), store.size()) == 0;
    char byte = 0;
    ::_exit(connected && ::recv(fd, &byte, 1, 0) <= 0 ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

class AgentTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user to knock";
  }

  // Runs `script`, which waits for a line; another user knocks before it gets one. Standard error
  // of the agent is `log`, which is closed here.
  void run(const std::string& script, UniqueFd log, const std::string& level) {
    const pid_t head = ::getpid();
    auto process = ChildProcess::fork([&](UniqueFd socket) {
                     die_with(head);
                     ::dup2(log.get(), STDERR_FILENO);
                     ::dup2(input_.read_end.get(), STDIN_FILENO);
                     log.reset();
                     input_ = {};
                     run_agent(std::move(socket), [](bool) {});
                   }).value();
    log.reset();
    SocketChannel<messages::ToAgent, messages::FromAgent> agent(loop_, process->take_socket(),
                                                                "agent");
    agent.open([this](const messages::FromAgent& message) { receive(message); },
               [this](const Status&) { loop_.stop(); });
    ASSERT_TRUE(agent.send(start(script, level)).ok());
    loop_.after(seconds(30), [this] { loop_.stop(); });
    ASSERT_TRUE(loop_.run().ok());
    agent.close();
    const std::optional<int> ended = process->wait(seconds(30));
    EXPECT_EQ(ended, 0) << "the agent did not end by itself";
  }
  messages::ToAgent start(const std::string& script, const std::string& level) const {
    messages::ToAgent message = start_of_script(job_, script);
    messages::Start& start = *message.mutable_start();
    start.set_stdin_rank(0);
    messages::Variable& variable = *start.mutable_apps(0)->add_environment();
    variable.set_name("PACELINE_LOG_LEVEL");
    variable.set_value(level);
    return message;
  }
  void receive(const messages::FromAgent& message) {
    if (message.has_started()) {
      EXPECT_TRUE(another_user_is_refused(SocketAddress::parse("unix:@paceline-" + job_).value()));
      EXPECT_EQ(::write(input_.write_end.get(), "go\n", 3), 3);
    }
    if (message.has_exited()) wait_status_ = message.exited().wait_status();
    if (message.has_finished()) loop_.stop();
  }

  const SystemClock clock_;
  EventLoop loop_{clock_};
  const std::string job_ = "agent-test-" + std::to_string(::getpid());
  Pipe input_ = make_pipe().value();
  std::optional<int> wait_status_;
};

std::string read_all(const UniqueFd& fd) {
  std::string text;
  char bytes[4096];
  for (ssize_t got = 1; got > 0;) {
    got = ::read(fd.get(), bytes, sizeof bytes);
    if (got > 0) text.append(bytes, static_cast<std::size_t>(got));
  }
  return text;
}

TEST_F(AgentTest, WithoutAReaderOfItsLogTheJobGoesOnAndTheRankHasTheDefaultSignals) {
  Pipe log = make_pipe().value();
  log.read_end.reset();
  run("read line && kill -PIPE $$; exit 0", std::move(log.write_end), "warning");
  ASSERT_TRUE(wait_status_.has_value());
  EXPECT_TRUE(WIFSIGNALED(*wait_status_) && WTERMSIG(*wait_status_) == SIGPIPE) << *wait_status_;
}

TEST_F(AgentTest, ItsLogHasTheLevelThatTheRanksAreGiven) {
  for (const std::string level : {"warning", "off"}) {
    Pipe log = make_pipe().value();
    run("read line; exit 7", std::move(log.write_end), level);
    ASSERT_TRUE(wait_status_.has_value());
    EXPECT_EQ(WEXITSTATUS(*wait_status_), 7);
    const std::string text = read_all(log.read_end);
    EXPECT_EQ(text.find("refused user 65534") != std::string::npos, level != "off") << text;
    input_ = make_pipe().value();
    wait_status_.reset();
  }
}

}  // namespace
}  // namespace paceline::launcher
