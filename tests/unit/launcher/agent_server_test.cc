// Who gets in, and who does not.
#include "launcher/channel/agent_server.h"

#include <cerrno>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/socket.h"
#include "tests/unit/launcher/remote_pair.h"

namespace paceline::launcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class AgentServerTest : public ::testing::Test {
 protected:
  UniqueFd connect() {
    auto address = SocketAddress::parse(head_.invitation.addresses(0)).value();
    UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(socket.get(), address.data(), address.size()), 0);
    return socket;
  }
  // Whether the head has hung up, its loop running meanwhile.
  bool hung_up(const UniqueFd& socket, seconds patience) {
    const Deadline deadline = Deadline::after(clock_, patience);
    while (!deadline.passed(clock_.now())) {
      loop_.after(milliseconds(5), [this] { loop_.stop(); });
      EXPECT_TRUE(loop_.run().ok());
      char bytes[256];
      if (::recv(socket.get(), bytes, sizeof bytes, MSG_DONTWAIT) == 0) return true;
      if (errno == ECONNRESET || errno == EPIPE) return true;
    }
    return false;
  }

  // The head's end goes first: the agent's waits for a head that reads.
  bool gets_in() {
    const auto channel = head_.dial(agent_loop_);
    const bool came = head_.agent != nullptr;
    head_.agent.reset();
    return channel.ok() && came;
  }

  const SystemClock clock_;
  EventLoop loop_{clock_};
  EventLoop agent_loop_{clock_};
  TestHead head_{loop_};
};

TEST_F(AgentServerTest, AWrongTokenIsRefusedAndTheRightOneStaysGood) {
  const std::string right = head_.seat.token();
  for (const std::string& wrong :
       {std::string(), std::string("x"), std::string(64, '0'), right.substr(1), right + "0"}) {
    head_.seat.set_token(wrong);
    const auto channel = head_.dial(agent_loop_);
    ASSERT_FALSE(channel.ok());
    EXPECT_EQ(channel.status().code(), Code::kDenied);
    EXPECT_EQ(channel.status().text(),
              "the head does not expect this agent: its token is not valid");
  }
  head_.seat.set_token(right);
  EXPECT_TRUE(gets_in());
}

TEST_F(AgentServerTest, ATokenIsGoodOnceAndForItsHostAlone) {
  head_.seat.set_index(1);
  EXPECT_FALSE(head_.dial(agent_loop_).ok());
  head_.seat.set_index(0);
  EXPECT_TRUE(gets_in());
  EXPECT_FALSE(gets_in());
}

TEST_F(AgentServerTest, BothSidesNameVersionsThatDiffer) {
  head_.version = "0.9";
  const auto channel = head_.dial(agent_loop_);
  ASSERT_FALSE(channel.ok());
  EXPECT_EQ(channel.status().text(),
            "host a: the agent is paceline 0.9, the head is 1.2.3; install the same build on all "
            "hosts");
  EXPECT_EQ(head_.refused, channel.status().text());
}

TEST_F(AgentServerTest, AnotherHeadIsNotTrusted) {
  EventLoop other_loop(clock_);
  TestHead other(other_loop);
  head_.invitation.set_certificate(other.invitation.certificate());
  const auto channel = head_.dial(agent_loop_);
  ASSERT_FALSE(channel.ok());
  EXPECT_NE(channel.status().text().find("cannot reach the head at 127.0.0.1"), std::string::npos)
      << channel.status().text();
}

TEST_F(AgentServerTest, AddressesAreTriedInTheirOrderAndNamed) {
  head_.invitation.clear_addresses();
  head_.invitation.add_addresses("127.0.0.1:1");
  const auto nobody = head_.dial(agent_loop_);
  ASSERT_FALSE(nobody.ok());
  EXPECT_EQ(nobody.status().text(),
            "the agent runs but cannot reach the head at 127.0.0.1:1: Connection refused");
  head_.invitation.add_addresses("127.0.0.1:" + std::to_string(head_.server->port()));
  EXPECT_TRUE(gets_in());
}

TEST_F(AgentServerTest, AConnectionWithGarbageIsClosed) {
  for (const std::string& garbage : {std::string("GET / HTTP/1.0\r\n\r\n"), std::string(4096, '\0'),
                                     std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")}) {
    const UniqueFd connection = connect();
    ASSERT_GT(::send(connection.get(), garbage.data(), garbage.size(), MSG_NOSIGNAL), 0);
    EXPECT_TRUE(hung_up(connection, seconds(5)));
  }
}

TEST_F(AgentServerTest, ManyWhoSayNothingDoNotKeepTheAgentOut) {
  std::vector<UniqueFd> silent;
  for (std::size_t i = 0; i < AgentServer::kMaxUnauthenticated + 16; ++i)
    silent.push_back(connect());
  EXPECT_TRUE(hung_up(silent.front(), seconds(5)));
  EXPECT_TRUE(gets_in());
  EXPECT_TRUE(hung_up(silent.back(), seconds(15)));
  ASSERT_EQ(head_.log->lines().size(), 2u) << "all come from one address";
  EXPECT_EQ(head_.log->count(RefusalLog::kGaveWay), 1u);
  EXPECT_EQ(head_.log->count(RefusalLog::kTooLate), 1u);
}

TEST_F(AgentServerTest, AgentsAndSilentDeparturesAreNotLogged) {
  for (int i = 0; i < 3; ++i) connect().reset();
  EXPECT_TRUE(gets_in());
  EXPECT_TRUE(head_.log->lines().empty()) << head_.log->lines()[0].text;
}

}  // namespace
}  // namespace paceline::launcher
