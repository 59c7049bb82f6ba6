// The seam to Boost and prometheus-cpp for the pages of a job. The module behind it
// (web_server.cc) is loaded if a job has --metrics or --dashboard.
//
// Snapshots cross the seam as bytes of paceline.job.v1.Snapshot.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <paceline/status.h>

#include "comm/base/unique_fd.h"

namespace paceline::launcher {

struct WebSite {
  UniqueFd listening;
  bool is_local = true;        ///< only this host can connect
  bool has_metrics = false;    ///< /metrics
  bool has_dashboard = false;  ///< / and /events
};

/// Serves from a thread of its own, which blocks all signals.
class WebServer {
 public:
  /// How long viewers have to read the last snapshot.
  static constexpr std::chrono::milliseconds kFarewell{250};
  /// Of all sites.
  static constexpr std::size_t kMaxConnections = 64;
  /// Of them, those that show the dashboard: others are left for Prometheus.
  static constexpr std::size_t kMaxViewers = 32;

  /// Ends all connections, after kFarewell at the latest.
  virtual ~WebServer() = default;
  /// All requests from now on are answered from this snapshot, and viewers of the dashboard get it.
  virtual void publish(std::string snapshot) = 0;
};

/// The functions of the module.
struct WebModule {
  Result<std::unique_ptr<WebServer>> (*serve)(std::vector<WebSite> sites);
};

/// The module's one symbol: a WebModule.
inline constexpr const char* kWebSymbol = "paceline_web_module";

/// Code::kUnavailable: this paceline was built without it, or it cannot be loaded.
Result<const WebModule*> load_web_module();

}  // namespace paceline::launcher
