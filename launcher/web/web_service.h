// The pages of a job, in its head: metrics for Prometheus, and a dashboard for browsers.
//
//   JobState, telemetry ── snapshot, once per second ──> module's thread ──> HTTP
//
// Pages show, and change nothing. Whoever can connect can read them: the default address is of the
// loopback interface.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <paceline/status.h>

#include "launcher/job/job_observer.h"
#include "launcher/proto/job_v1.pb.h"
#include "launcher/system/event_loop.h"
#include "launcher/web/web_module.h"

namespace paceline::launcher {

/// Belongs to the loop's thread, and goes before the loop.
class WebService final : public JobObserver {
 public:
  static constexpr Duration kPeriod = std::chrono::seconds(1);

  struct Options {
    std::string metrics;    ///< "ADDR:PORT"; empty: none
    std::string dashboard;  ///< the same; it may be the same address
    /// The job as it is now.
    std::function<job::v1::Snapshot()> snapshot;
  };

  static Result<std::unique_ptr<WebService>> start(EventLoop& loop, Options options);
  /// Viewers get the last snapshot, and up to WebServer::kFarewell to read it.
  ~WebService() override;

  /// For the user: "metrics: http://127.0.0.1:9400/metrics".
  const std::vector<std::string>& addresses() const { return addresses_; }
  void saw(TimePoint now, const JobEvent& event, const JobState& state) override;

 private:
  WebService(EventLoop& loop, Options options) : loop_(loop), options_(std::move(options)) {}
  Result<WebSite> open(const char* option, const std::string& text, const char* what,
                       const char* path);
  Status serve();
  void publish();

  EventLoop& loop_;
  const Options options_;
  std::vector<std::string> addresses_;
  std::unique_ptr<WebServer> server_;
  std::optional<EventLoop::TimerId> publishing_;
  bool ended_ = false;
};

}  // namespace paceline::launcher
