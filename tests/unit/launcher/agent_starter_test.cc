// Agents that are started on this host as if it were many, by the built `paceline`.
#include "launcher/engines/agent_starter.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "launcher/channel/build_name.h"
#include "launcher/engines/shell_words.h"
#include "launcher/engines/slurm_nodes.h"
#include "launcher/engines/start_failure.h"
#include "tests/unit/launcher/parsing.h"
#include "tests/unit/launcher/script_start.h"

namespace paceline::launcher {
namespace {

using std::chrono::seconds;

class AgentStarterTest : public ::testing::Test {
 protected:
  // Agents write their job down in a folder of the test's own: else whoever sweeps the user's jobs
  // meanwhile, and knows this id, would end them.
  AgentStarterTest() {
    ::signal(SIGPIPE, SIG_IGN);
    std::filesystem::create_directory(folder_);
    ::setenv("XDG_RUNTIME_DIR", folder_.c_str(), 1);
  }
  ~AgentStarterTest() override {
    ::unsetenv("XDG_RUNTIME_DIR");
    std::error_code ends_meanwhile;  // an agent, which removes its entry
    std::filesystem::remove_all(folder_, ends_meanwhile);
  }

  static std::vector<AgentHost> hosts(std::size_t count) {
    std::vector<AgentHost> all;
    for (std::size_t i = 0; i < count; ++i)
      all.push_back({.name = "h" + std::to_string(i), .index = i});
    return all;
  }
  AgentStarter::Options options() {
    return {.version = std::string(build_name()),
            .job_id = "0123456789abcdef",
            .agent_path = PACELINE_PROGRAM,
            .addresses = {"127.0.0.1"},
            .said = [this](const std::string& host, std::string_view line) {
              said_ += host + ": " + std::string(line) + "\n";
            }};
  }
  // What became of agents that `command` starts.
  Result<std::vector<ConnectedAgent>> start(const std::string& command, std::size_t count,
                                            AgentStarter::Options options) {
    starter_ = AgentStarter::make(loop_, std::move(options)).value();
    const auto engine = make_engine({.name = "", .launch_command = command}).value();
    std::optional<Result<std::vector<ConnectedAgent>>> result;
    starter_->start(*engine, hosts(count), [&](Result<std::vector<ConnectedAgent>> agents) {
      result = std::move(agents);
      loop_.stop();
    });
    const EventLoop::TimerId limit = loop_.after(seconds(60), [this] { loop_.stop(); });
    EXPECT_TRUE(loop_.run().ok());
    loop_.cancel(limit);
    if (!result) return Status(Code::kTimeout, Scope::kOperation, "the start has not ended");
    return *std::move(result);
  }
  // The store of a job has its name on the whole host.
  static std::string job_of(const ConnectedAgent& agent) {
    return "many-" + std::to_string(::getpid()) + "-" + agent.host;
  }
  std::string failure(const std::string& command, AgentStarter::Options options) {
    auto agents = start(command, 1, std::move(options));
    return agents.status().text();
  }

  const std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) / ("agent_starter_" + std::to_string(::getpid()));
  const SystemClock clock_;
  EventLoop loop_{clock_};
  std::unique_ptr<AgentStarter> starter_;
  std::string said_;
};

// Each starts two programs more; one of the address sanitizer takes 0.3 s of a CPU until main().
#ifdef __SANITIZE_ADDRESS__
constexpr std::size_t kMany = 16;
#else
constexpr std::size_t kMany = 64;
#endif

TEST_F(AgentStarterTest, ManyAgentsRunARankEach) {
  EXPECT_TRUE(start("true", 0, options()).ok());  // nobody
  auto agents = start("sh -c 'exec \"$@\"'", kMany, options());
  ASSERT_TRUE(agents.ok()) << agents.status().text();
  std::size_t finished = 0;
  std::vector<std::string> outputs(kMany);
  std::string trouble;
  for (ConnectedAgent& agent : *agents) {
    agent.channel->open(
        [&, &output = outputs[agent.index]](const messages::FromAgent& message) {
          output += message.output().text();
          if (message.has_failure() || message.has_refused())
            trouble += agent.host + ": " + message.ShortDebugString() + "\n";
          if (message.has_exited() && message.exited().wait_status() != 3 << 8)
            trouble += agent.host + ": " + message.ShortDebugString() + "\n";
          if (message.has_finished() && output.empty()) trouble += agent.host + " said nothing\n";
          if (message.has_finished() && ++finished == kMany) loop_.stop();
        },
        [&](const Status& why) {
          if (!why.ok()) trouble += agent.host + ": " + why.to_string() + "\n";
        });
    ASSERT_TRUE(agent.channel->send(start_of_script(job_of(agent), "echo $PPID; exit 3")).ok());
  }
  loop_.after(seconds(60), [this] { loop_.stop(); });
  ASSERT_TRUE(loop_.run().ok());
  EXPECT_EQ(finished, kMany);
  EXPECT_EQ(trouble, "") << said_;
  for (const std::string& output : outputs) EXPECT_FALSE(output.empty());
  agents->clear();
  starter_.reset();
}

// The rank's parent is the helper, whose parent is the agent.
constexpr const char* kNameAgent = "trap '' TERM HUP; cut -d' ' -f4 /proc/$PPID/stat; sleep 1000";

TEST_F(AgentStarterTest, AKilledAgentIsNoticedAndLeavesNoRank) {
  auto agents = start("sh -c 'exec \"$@\"'", 1, options());
  ASSERT_TRUE(agents.ok()) << agents.status().text();
  std::optional<Status> why;
  pid_t rank = 0, agent = 0;
  agents->front().channel->open(
      [&](const messages::FromAgent& message) {
        // What a rank says may come before its helper has told that it was started.
        if (message.has_started()) rank = static_cast<pid_t>(message.started().pid());
        if (message.has_output()) agent = std::stoi(message.output().text());
        if (rank > 0 && agent > 0) ::kill(agent, SIGKILL);
      },
      [&](const Status& status) {
        why = status;
        loop_.stop();
      });
  ASSERT_TRUE(agents->front().channel->send(start_of_script("killed", kNameAgent)).ok());
  loop_.after(seconds(20), [this] { loop_.stop(); });
  ASSERT_TRUE(loop_.run().ok());
  ASSERT_TRUE(why);
  ASSERT_GT(rank, 0) << why->to_string() << "; " << said_;
  EXPECT_EQ(why->text(), "agent: the connection is lost");
  agents->clear();
  starter_.reset();
  const Deadline deadline = Deadline::after(clock_, seconds(10));
  while (::kill(rank, 0) == 0 && !deadline.passed(clock_.now())) std::this_thread::yield();
  EXPECT_NE(::kill(rank, 0), 0);
}

TEST_F(AgentStarterTest, FailuresAreNamed) {
  EXPECT_EQ(failure("sh -c 'echo first >&2; echo Permission denied >&2; exit 255'", options()),
            "host h0: Permission denied");
  EXPECT_EQ(failure("sh -c 'exit 7'", options()),
            "host h0: sh exited with code 7 without starting an agent");
  const std::string missing = failure("no-such-program", options());
  EXPECT_TRUE(missing.starts_with("host h0: ")) << missing;
  EXPECT_NE(missing.find("no-such-program"), std::string::npos) << missing;
  AgentStarter::Options elsewhere = options();
  elsewhere.agent_path = "/no/paceline";
  EXPECT_TRUE(
      failure("sh -c 'exec \"$@\"'", elsewhere)
          .starts_with(
              "host h0: /no/paceline: command not found; install it there, or set --agent-path"));
  for (const char* version : {"0.0.9", PACELINE_VERSION, PACELINE_VERSION " (messages 0123abcd)"}) {
    AgentStarter::Options other = options();
    other.version = version;
    EXPECT_EQ(failure("sh -c 'exec \"$@\"'", other),
              "host h0: the agent is paceline " + std::string(build_name()) + ", the head is " +
                  version + "; install the same build on all hosts");
  }
  EXPECT_TRUE(failure("sh -c 'exec sh'", options())
                  .starts_with("host h0: a shell of the login there read the standard input"));
  EXPECT_TRUE(failure("sh -c 'read line; exec \"$@\"'", options())
                  .starts_with("host h0: standard input does not begin with an invitation to a "
                               "job: a login script on this host"));
  AgentStarter::Options unreachable = options();
  unreachable.addresses = {"nowhere"};
  EXPECT_TRUE(failure("sh -c 'exec \"$@\"'", unreachable)
                  .starts_with("host h0: the agent runs but cannot reach the head at nowhere:"));
}

TEST_F(AgentStarterTest, AProgramThatHangsIsGivenUp) {
  AgentStarter::Options hasty = options();
  hasty.patience = seconds(1);
  const auto agents = start("sh -c 'echo waiting >&2; sleep 1000'", 2, hasty);
  EXPECT_EQ(
      agents.status().text(),
      "hosts h0, h1: no agent connected within 1 s, and sh still runs; its last message: waiting");
}

TEST(EnginesTest, SayWhatIsExecuted) {
  const std::vector<AgentHost> hosts{{"a", 0}, {"b", 1}};
  const Words agent{"/opt/my tools/paceline", "agent"};
  const auto command = make_engine({.launch_command = "kubectl exec -i {host} --"}).value();
  EXPECT_EQ(command->plan(hosts, agent)[1].command,
            (Words{"kubectl", "exec", "-i", "b", "--", "/opt/my tools/paceline", "agent"}));
  const auto ssh = make_engine({.name = "ssh", .ssh_arguments = "-i 'my key' -p 22"}).value();
  const Words words = ssh->plan(hosts, agent)[0].command;
  EXPECT_EQ(Words(words.begin(), words.begin() + 5), (Words{"ssh", "-i", "my key", "-p", "22"}));
  EXPECT_EQ(Words(words.end() - 3, words.end()),
            (Words{"--", "a", "exec '/opt/my tools/paceline' agent"}));
  const std::vector<Launch> step = make_engine({.name = "slurm"}).value()->plan(hosts, agent);
  ASSERT_EQ(step.size(), 1u);
  EXPECT_EQ(std::ranges::count(step[0].command, "--wait=0"), 1)
      << "else WaitTime in slurm.conf ends agents after others of the step have ended";
  const auto lab = make_engine({.name = "lab:mine", .paceline = "paceline"}).value();
  EXPECT_EQ(lab->plan(hosts, {"agent"})[1].command,
            (Words{"paceline", "lab", "exec", "--name", "mine", "b", "--", "agent"}));
  EXPECT_FALSE(make_engine({.name = "smoke"}).ok());
  EXPECT_FALSE(make_engine({.name = "ssh:x"}).ok());
  EXPECT_FALSE(make_engine({.launch_command = "'open"}).ok());
}

// The variable would keep an agent, or this process, from any TLS connection.
TEST_F(AgentStarterTest, VariablesOfGrpcAreForRanksAlone) {
  ::setenv("GRPC_SSL_CIPHER_SUITES", "nonsense", 1);
  auto agents = start("sh -c 'exec \"$@\"'", 1, options());
  ::unsetenv("GRPC_SSL_CIPHER_SUITES");
  ASSERT_TRUE(agents.ok()) << agents.status().text();
  std::string output;
  agents->front().channel->open(
      [&](const messages::FromAgent& message) {
        output += message.output().text();
        if (message.has_finished()) loop_.stop();
      },
      [&](const Status&) { loop_.stop(); });
  ASSERT_TRUE(
      agents->front().channel->send(start_of_script("grpc", "echo $GRPC_SSL_CIPHER_SUITES")).ok());
  loop_.after(seconds(20), [this] { loop_.stop(); });
  ASSERT_TRUE(loop_.run().ok());
  EXPECT_EQ(output, "nonsense\n");
  agents->clear();
  starter_.reset();
}

// The program of each host fails with a complaint the first times.
class RepeatedStarts : public AgentStarterTest {
 protected:
  std::string program(const std::string& complaint, int failures) const {
    const std::string count = (folder_ / "count").string();
    return "sh -c 'echo x >>" + count + ".$0; [ $(wc -l <" + count + ".$0) -gt " +
           std::to_string(failures) + " ] || { echo \"" + complaint +
           "\" >&2; exit 255; }; exec \"$@\"'";
  }
};

TEST_F(RepeatedStarts, AHostThatComesUpIsWaitedFor) {
  auto agents =
      start(program("ssh: connect to host $0 port 22: Connection refused", 2), 2, options());
  EXPECT_TRUE(agents.ok()) << agents.status().text();
  EXPECT_NE(said_.find("h1: trying again for up to 10 s: ssh: connect to host h1 port 22: "
                       "Connection refused"),
            std::string::npos)
      << said_;
}

TEST_F(RepeatedStarts, AHostThatDoesNotComeUpIsNamed) {
  AgentStarter::Options impatient = options();
  impatient.host_patience = std::chrono::milliseconds(600);
  const std::string why =
      failure(program("ssh: connect to host $0 port 22: No route to host", 1000), impatient);
  EXPECT_EQ(why, "host h0: ssh: connect to host h0 port 22: No route to host");
}

TEST_F(RepeatedStarts, ADroppedConnectionIsRepeated) {
  auto agents = start(program("kex_exchange_identification: Connection closed by remote host", 1),
                      16, options());
  EXPECT_TRUE(agents.ok()) << agents.status().text();
  EXPECT_EQ(said_, "");
}

TEST_F(RepeatedStarts, AClashOfTwoMpirunIsRepeated) {
  auto agents =
      start(program("[vm:1] [[9,0],0] ORTE_ERROR_LOG: Error in file session_dir.c at line 346", 1),
            4, options());
  EXPECT_TRUE(agents.ok()) << agents.status().text();
  EXPECT_EQ(said_, "");
}

// The first attempt ends as a dropped connection, but its agent lives in a session of its own, and
// comes before the second attempt begins.
TEST_F(RepeatedStarts, AnAgentThatComesBetweenTwoAttemptsIsSentAway) {
  std::ofstream(folder_ / "login") << R"(
    shift  # the name of the host
    mkdir "${0%/*}/first" 2>/dev/null || exec "$@"
    exec 3<&0
    setsid sh -c '{ cat; sleep 2; } | { sleep 0.2; exec "$@"; }' sh "$@" <&3 2>/dev/null &
    sleep 0.1
    echo kex_exchange_identification: Connection closed by remote host >&2
    exit 255)";
  auto agents = start("sh " + (folder_ / "login").string(), 1, options());
  EXPECT_TRUE(agents.ok()) << agents.status().text();
}

TEST_F(RepeatedStarts, NothingIsRepeatedOnceAnotherHostHasFailed) {
  const std::string script =
      "sh -c 'if [ $0 = h0 ]; then echo Permission denied >&2; exit 255; fi; sleep 0.3; echo "
      "Connection closed by UNKNOWN port 65535 >&2; exit 255'";
  const std::string why = start(script, 2, options()).status().text();
  EXPECT_NE(why.find("host h0: Permission denied"), std::string::npos) << why;
  EXPECT_NE(why.find("host h1: Connection closed by UNKNOWN port 65535; sshd there, or on a jump "
                     "host, closes connections before authentication: raise MaxStartups"),
            std::string::npos)
      << why;
}

TEST(StartFailure, IsToldByMessages) {
  using Lines = std::deque<std::string>;
  EXPECT_EQ(start_failure(Lines{"ssh: connect to host h2 port 22: Connection refused"}),
            StartFailure::kNotUp);
  EXPECT_EQ(start_failure(Lines{"channel 0: open failed: connect failed: Connection refused",
                                "stdio forwarding failed",
                                "kex_exchange_identification: Connection closed by remote host"}),
            StartFailure::kNotUp);
  EXPECT_EQ(start_failure(Lines{"kex_exchange_identification: read: Connection reset by peer",
                                "Connection reset by 10.77.0.1 port 22"}),
            StartFailure::kDropped);
  EXPECT_EQ(start_failure(Lines{"Connection timed out during banner exchange"}),
            StartFailure::kNotUp);
  EXPECT_EQ(start_failure(Lines{"[vm:19381] [[10059,0],0] ORTE_ERROR_LOG: Error in file "
                                "../../../orte/util/session_dir.c at line 346"}),
            StartFailure::kClash);
  EXPECT_EQ(start_failure(Lines{"  Error:     No space left on device",
                                "[vm:1] [[9,0],0] ORTE_ERROR_LOG: Error in file session_dir.c"}),
            StartFailure::kOther);
  for (const char* line :
       {"root@h2: Permission denied (publickey).", "Host key verification failed.", "",
        "ssh: Could not resolve hostname h2: Name or service not known", "Connection refused"})
    EXPECT_EQ(start_failure(Lines{line}), StartFailure::kOther) << line;
}

TEST(ShellWordsTest, ReadsWhatItWrites) {
  for (const std::string word : {"", "plain", "it's", "a b", "$HOME", "\\", "\""})
    EXPECT_EQ(split_words(quote_word(word)).value(), Words{word});
}

TEST(SlurmNodesTest, ExpandsLists) {
  EXPECT_EQ(expand_counts("4(x2),3").value(), (std::vector<int>{4, 4, 3}));
  for (const char* wrong : {"", "0", "2(x", "2(x)", "2(x99999999)", "-1"})
    EXPECT_FALSE(expand_counts(wrong).ok()) << wrong;
}

}  // namespace
}  // namespace paceline::launcher
