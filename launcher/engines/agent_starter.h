// Starts the agents of a job on its hosts, all at once as far as that is wise.
//
//   auto starter = AgentStarter::make(loop, {.version = …, .job_id = …, .said = …});
//   (*starter)->start(**engine, hosts, [&](Result<std::vector<ConnectedAgent>> agents) { … });
//   loop.run();   // the handler is called from the loop, once
//
// Nothing here knows about ranks.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <paceline/status.h>

#include "comm/base/port_range.h"
#include "launcher/channel/agent_server.h"
#include "launcher/engines/engine.h"
#include "launcher/engines/launch_program.h"
#include "launcher/engines/start_failure.h"

namespace paceline::launcher {

/// An agent that waits for its Start. Its channel is not open yet.
struct ConnectedAgent {
  std::string host;
  std::size_t index = 0;
  std::string address;  ///< that its host has for this one; numeric
  std::unique_ptr<AgentChannel> channel;
  TimePoint came{};
};

/// Belongs to the loop's thread. It keeps what agents need as long as they run, so it must outlive
/// their channels, and go before the loop.
class AgentStarter {
 public:
  struct Options {
    std::string version;  ///< build_name(), which agents must have, too
    std::string job_id;
    std::string agent_path;  ///< of paceline on the hosts; empty: the path of this program
    std::vector<std::string> addresses;  ///< of this host, without port; empty: all it has
    Duration patience = std::chrono::seconds(30);  ///< for each program, from its start
    PortRange ports{};                             ///< on which this process listens for agents
    std::size_t most_at_once = 32;                 ///< programs whose agents have yet to come
    /// For hosts that do not accept connections of ssh yet, and for mpirun that clash, from the
    /// first attempt. Connections that close before authentication are repeated for kDropPatience,
    /// at most kPaced at once then.
    Duration host_patience = std::chrono::seconds(10);
    /// What an agent that has come, or the program that started it, writes on standard error. Names
    /// are joined by commas where one program serves several hosts.
    std::function<void(const std::string& host, std::string_view line)> said;
    /// Called for each host whose agent does not come, as soon as that is known. May be empty.
    std::function<void(const std::string& host, const std::string& why)> failed = nullptr;
  };
  static constexpr Duration kDropPatience = std::chrono::seconds(30);
  /// For programs to end.
  static constexpr std::chrono::seconds kLeave{5};
  static constexpr std::size_t kPaced = 6;  ///< fewer than the 10 that MaxStartups always accepts

  /// All of them, in the order of the hosts; or a line for each thing that was wrong, with the
  /// hosts that it befell. Then no agent is left.
  using Done = std::function<void(Result<std::vector<ConnectedAgent>> agents)>;

  /// Call once all that has to be forked is forked, with SIGPIPE ignored and the signals that this
  /// process watches blocked: it makes threads.
  static Result<std::unique_ptr<AgentStarter>> make(EventLoop& loop, Options options);
  /// Calls end() with a deadline after kLeave.
  ~AgentStarter();
  AgentStarter(const AgentStarter&) = delete;
  AgentStarter& operator=(const AgentStarter&) = delete;

  /// Once. `hosts` have different indices.
  void start(const Engine& engine, std::vector<AgentHost> hosts, Done done);

  /// Lets the programs end. Waits for them in the loop `waiting` until `deadline`, or until it is
  /// stopped, and then kills the rest.
  void end(EventLoop& waiting, Deadline deadline);

 private:
  // A program of the plan.
  struct Started {
    Launch launch;
    std::string hosts;  // their names
    std::unique_ptr<LaunchProgram> program;
    EventLoop::TimerId timer{};
    std::set<std::size_t> missing;  // indices of hosts whose agents have yet to come
    std::deque<std::string> lines;  // what it wrote until all had come: the last ones
    bool failed = false;
    bool is_pausing = false;  // between attempts: an agent that comes now is too late
    int attempts = 0;
    TimePoint began{};  // the first attempt
  };

  AgentStarter(EventLoop& loop, Options options) : loop_(loop), options_(std::move(options)) {}
  std::vector<std::string> addresses() const;
  void go_on_soon();
  void launch_more();
  Started& next();
  Status launch(Started& started);
  Result<std::string> invite(const Launch& launch);
  void arrived(std::size_t index, const std::string& address,
               std::unique_ptr<AgentChannel> channel);
  void refused(std::size_t index, const std::string& why);
  void said(Started& started, std::string_view line);
  void ended(Started& started, int wait_status);
  bool starts_again(Started& started, StartFailure failure);
  void overdue(Started& started);
  std::string why_ended(const Started& started, int wait_status) const;
  void fail(Started& started, const std::string& why);
  void finish_if_settled();
  Started* find(std::size_t index);

  EventLoop& loop_;
  const Options options_;
  std::vector<std::string> environment_;  // of the programs
  std::unique_ptr<AgentServer> server_;
  Done done_;  // empty once it has been called
  std::optional<EventLoop::TimerId> go_on_;
  std::vector<AgentHost> hosts_;
  std::vector<std::string> addresses_;  // where agents find this host
  std::deque<Launch> waiting_;
  std::list<Started> started_;  // addresses stay
  std::deque<Started*> again_;  // of started_: the next attempt is due
  std::size_t at_once_ = 0;     // max of under_way_
  std::size_t under_way_ = 0;   // programs that lack an agent
  std::map<std::size_t, ConnectedAgent> agents_;
  std::map<std::string, std::vector<std::string>> failures_;  // what, and the hosts
};

}  // namespace paceline::launcher
