// Where an agent cannot be started on a host, the launcher says which host and why, in bounded
// time, and leaves nothing behind: with a real sshd on a loopback port, with throw-away keys.
//
// Each case is one thing that goes wrong; the error has to begin with the host's name and to hold
// what is expected. Then a host that works must start beside one that does not, and a killed ssh
// must end its agent.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <signal.h>
#include <unistd.h>

#include "launcher/channel/build_name.h"
#include "launcher/engines/agent_starter.h"
#include "launcher/engines/shell_words.h"
#include "launcher/system/host.h"
#include "launcher/system/process.h"
#include "launcher/system/signal_source.h"

namespace paceline::launcher {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;
using Agents = Result<std::vector<ConnectedAgent>>;

constexpr int kSkip = 77;
constexpr const char* kSshd = "/usr/sbin/sshd";

fs::path build() {
  const char* const named = std::getenv("PACELINE_BUILD");
  return fs::absolute(named != nullptr ? named : "build/release");
}

// A folder with keys that goes with it.
class Keys {
 public:
  Keys() {
    std::string name = (fs::temp_directory_path() / "paceline-ssh-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    for (const char* key : {"host", "right", "wrong"})
      made_ &= std::system(("ssh-keygen -q -t ed25519 -N '' -f " + path(key)).c_str()) == 0;
  }
  ~Keys() { remove(); }
  Keys(const Keys&) = delete;
  Keys& operator=(const Keys&) = delete;
  void remove() const { fs::remove_all(folder_); }
  bool made() const { return made_; }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

 private:
  fs::path folder_;
  bool made_ = true;
};

class Trial {
 public:
  Trial() {
    ::signal(SIGPIPE, SIG_IGN);
    signals_ = SignalSource::watch(loop_, {SIGINT, SIGTERM}, [this](int signal) {
                 sshd_.reset();
                 keys_.remove();
                 ::_exit(128 + signal);
               }).value();
  }

  bool start_sshd() {
    if (!keys_.made()) return false;
    port_ = free_port("127.0.0.1").value();
    fs::create_directories("/run/sshd");
    std::ofstream(keys_.path("conf"))
        << "ListenAddress 127.0.0.1:" << port_ << "\nHostKey " << keys_.path("host")
        << "\nAuthorizedKeysFile " << keys_.path("right.pub")
        << "\nPidFile none\nUsePAM no\nStrictModes no\n"
           "PermitRootLogin yes\nUseDNS no\n";
    auto program = LaunchProgram::start(
        loop_, {.command = {kSshd, "-D", "-e", "-f", keys_.path("conf")},
                .input = "",
                .said =
                    [this](std::string_view line) {
                      if (line.find("listening") != std::string_view::npos && !listens_) {
                        listens_ = true;
                        loop_.stop();
                      }
                    },
                .ended = [this](int) { loop_.stop(); }});
    if (!program.ok()) return false;
    sshd_ = *std::move(program);
    return loop_.run().ok() && listens_;
  }

  std::string ssh(const std::string& key, bool everywhere_here = true) const {
    return "-F none -i " + quote_word(keys_.path(key)) + " -p " + std::to_string(port_) +
           " -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR "
           "-o IdentitiesOnly=yes" +
           (everywhere_here ? " -o HostName=127.0.0.1" : "");
  }

  AgentStarter::Options options() const {
    return {.version = std::string(build_name()),
            .job_id = "00000000000000ff",
            .agent_path = (build() / "bin/paceline").string(),
            .addresses = {"127.0.0.1"},
            .said = [](const std::string&, std::string_view) {}};
  }

  Agents start(const EngineOptions& engine, const std::vector<std::string>& names,
               AgentStarter::Options options) {
    starter_ = AgentStarter::make(loop_, std::move(options)).value();
    std::vector<AgentHost> hosts;
    for (const std::string& name : names) hosts.push_back({.name = name, .index = hosts.size()});
    std::optional<Agents> result;
    starter_->start(*make_engine(engine).value(), hosts, [&](Agents agents) {
      result = std::move(agents);
      loop_.stop();
    });
    while (!result) loop_.run().value();
    return *std::move(result);
  }

  void expect(const char* what, const EngineOptions& engine, AgentStarter::Options options,
              const std::string& text) {
    const TimePoint begin = clock_.now();
    const Agents agents = start(engine, {"b"}, std::move(options));
    const Duration took = clock_.now() - begin;
    longest_ = std::max(longest_, took);
    const std::string said = agents.status().text();
    check(what, said.starts_with("host b: ") && said.find(text) != std::string::npos, said);
  }
  void check(const char* what, bool holds, const std::string& said) {
    std::printf("%-28s %s: %s\n", what, holds ? "ok" : "FAILED", said.c_str());
    std::fflush(stdout);
    ++(holds ? good_ : bad_);
  }

  void fail_in_every_way() {
    const EngineOptions good{.name = "ssh", .ssh_arguments = ssh("right")};
    EngineOptions other = good;
    other.ssh_arguments = ssh("wrong");
    expect("wrong key", other, options(), "Permission denied (publickey");
    other.ssh_arguments = "-p 1 " + ssh("right");
    AgentStarter::Options impatient = options();
    impatient.host_patience = seconds(1);
    expect("nobody listens", other, impatient, "Connection refused");
    other.ssh_arguments = ssh("right", false) + " -o HostName=no-such-host.invalid";
    expect("unknown host", other, options(), "Could not resolve hostname");
    AgentStarter::Options changed = options();
    changed.agent_path = "/nowhere/paceline";
    expect("not installed there", good, changed,
           "/nowhere/paceline: command not found; install it there, or set --agent-path");
    changed = options();
    changed.version = "0.0.9";
    expect("another version", good, changed,
           "agent is paceline " + std::string(build_name()) + ", the head is 0.0.9");
    changed = options();
    changed.addresses = {"192.0.2.1"};  // of a network for documentation (RFC 5737)
    expect("head out of reach", good, changed, "the agent runs but cannot reach the head at 192.");
    changed = options();
    changed.patience = seconds(2);
    expect("a program that hangs", {.launch_command = "sh -c 'sleep 1000'"}, changed,
           "no agent connected within 2 s, and sh still runs");
    expect("a program that is not there", {.launch_command = "no-such-launcher"}, options(),
           "no-such-launcher");
  }

  void one_of_several() {
    const std::string script = "if [ $0 = b ]; then echo no room >&2; exit 1; fi; exec \"$@\"";
    const Agents agents =
        start({.launch_command = "sh -c " + quote_word(script)}, {"a", "b", "c"}, options());
    check("one of three", agents.status().text() == "host b: no room", agents.status().text());
  }

  void works_and_ends_with_ssh() {
    Agents agents = start({.name = "ssh", .ssh_arguments = ssh("right")}, {"a", "b"}, options());
    check("two hosts", agents.ok(), agents.ok() ? "started" : agents.status().text());
    if (!agents.ok()) return;
    std::size_t closed = 0;
    for (ConnectedAgent& agent : *agents)
      agent.channel->open([](const messages::FromAgent&) {},
                          [&](const Status&) {
                            if (++closed == 2) loop_.stop();
                          });
    for (const pid_t child : children()) {
      std::ifstream name("/proc/" + std::to_string(child) + "/comm");
      std::string text;
      if (name >> text && text == "ssh") ::kill(child, SIGKILL);
    }
    const auto overdue = loop_.after(seconds(10), [this] { loop_.stop(); });
    loop_.run().value();
    loop_.cancel(overdue);
    check("ssh is killed", closed == 2, std::to_string(closed) + " of 2 agents have gone");
    agents->clear();
  }

  int conclude() {
    starter_.reset();
    sshd_.reset();
    std::printf("%d of %d ways to fail are named; the longest took %.1f s\n", good_, good_ + bad_,
                std::chrono::duration<double>(longest_).count());
    return bad_ == 0 ? 0 : 1;
  }

 private:
  const SystemClock clock_;
  EventLoop loop_{clock_};
  std::unique_ptr<SignalSource> signals_;
  const Keys keys_;
  std::unique_ptr<LaunchProgram> sshd_;
  std::unique_ptr<AgentStarter> starter_;
  bool listens_ = false;  // sshd
  int port_ = 0;
  int good_ = 0;
  int bad_ = 0;
  Duration longest_{};
};

int judge() {
  if (::access(kSshd, X_OK) != 0) {
    std::puts("skipped: there is no sshd (Debian: openssh-server)");
    return kSkip;
  }
  Trial trial;
  if (!trial.start_sshd()) {
    std::puts("skipped: sshd does not start here");
    return kSkip;
  }
  trial.fail_in_every_way();
  trial.one_of_several();
  trial.works_and_ends_with_ssh();
  return trial.conclude();
}

}  // namespace
}  // namespace paceline::launcher

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--quick") != 0) {
    std::puts("usage: launch_failures_are_named [--quick]   (both take less than a minute)");
    return std::strcmp(argv[1], "--help") == 0 ? 0 : 1;
  }
  return paceline::launcher::judge();
}
