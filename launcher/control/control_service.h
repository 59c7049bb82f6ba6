// The control service of a job, in its head: clients ask how the job is, and end or signal it.
//
//   client ── socket ── head's loop accepts ── gRPC's threads (control_module.h)
//                          │   ▲                      │
//              snapshots   │   └──── Mailbox ─────────┘  calls
//                          ▼
//                   Options::snapshot, after saw()
//
// gRPC is loaded when the first client connects, so a job without clients has neither gRPC nor
// threads of it. The loop never waits for a client. It answers each call at once, but one that asks
// for stacks when the agents have answered.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include <paceline/status.h>

#include "comm/socket.h"
#include "launcher/control/control_listener.h"
#include "launcher/control/control_module.h"
#include "launcher/job/job_observer.h"
#include "launcher/proto/job_v1.pb.h"
#include "launcher/system/event_loop.h"
#include "launcher/system/mailbox.h"

namespace paceline::launcher {

using StacksByRank = std::map<std::uint32_t, std::vector<job::v1::Process>>;
/// Gets the stacks, or why the request cannot be done.
using RankStacksTaken = std::function<void(const Result<StacksByRank>&)>;

/// Belongs to the loop's thread, and goes before the loop.
class ControlService final : public JobObserver {
 public:
  /// Watchers get at most 4 snapshots per second, and the last one at once.
  static constexpr Duration kMinPeriod = std::chrono::milliseconds(250);

  struct Options {
    std::string folder;        ///< of the job's entry in the registry
    uid_t user = 0;            ///< who may use the Unix socket, beside root
    std::string tcp;           ///< --control, "ADDR:PORT"; empty: only the Unix socket
    std::shared_ptr<Log> log;  ///< names refused peers; may be null
    /// The job as it is now.
    std::function<job::v1::Snapshot()> snapshot;
    /// Does what a signal to the head does. An error says why it cannot.
    std::function<Status(const SignalCame&)> signalled;
    /// Takes the stacks of ranks, and calls `done` at once or later; not after the service has
    /// gone. Null: nobody can.
    std::function<void(const std::vector<std::uint32_t>& ranks, RankStacksTaken done)> take_stacks;
  };

  /// Listens. Files in the folder tell clients where, for TCP also the certificate and the token.
  static Result<std::unique_ptr<ControlService>> start(EventLoop& loop, Options options);
  /// Watchers get the last snapshot, and up to ControlServer::kFarewell to read it.
  ~ControlService() override;

  void saw(TimePoint now, const JobEvent& event, const JobState& state) override;

 private:
  ControlService(EventLoop& loop, Options options) : loop_(loop), options_(std::move(options)) {}
  Status listen();
  Status listen_on_tcp();
  Status serve(UniqueFd connection, ControlServer::Kind kind);
  Status load();
  using Reply = std::function<void(const ControlReply&)>;
  void answer(ControlMethod method, const std::string& request, const Reply& reply);
  void describe(const std::string& request, const Reply& reply);
  ControlReply describe() const;
  Status cancel(const std::string& request);
  Status signal(const std::string& request);
  void publish();

  EventLoop& loop_;
  const Options options_;
  Certificate certificate_;
  std::string token_;
  std::optional<ControlReply> last_;        // once the job has ended
  std::map<std::uint64_t, Reply> waiting_;  // calls for whose stacks the agents were asked
  std::uint64_t last_waiting_ = 0;
  std::optional<EventLoop::TimerId> publishing_;
  TimePoint published_ = TimePoint::min();
  std::unique_ptr<Mailbox> mailbox_;
  std::unique_ptr<ControlServer> server_;  // once a client has connected
  std::unique_ptr<ControlListener> unix_;
  std::unique_ptr<ControlListener> tcp_;
};

}  // namespace paceline::launcher
