// The seam to gRPC for the control service of a job. The module behind it (grpc_control.cc) has the
// code that protoc generates from job_v1.proto. The head loads it when its first client connects,
// and a client when it calls; channel/grpc_loader.h says why.
//
// Messages cross the seam as bytes. Both sides generate their own classes from the same file: the
// module the full ones, which reflection needs, and the launcher the lite ones.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include <paceline/status.h>

#include "comm/base/unique_fd.h"
#include "launcher/channel/remote_call.h"

namespace paceline::launcher {

/// The methods of `service Job`, except Watch, of which the first snapshot is that of kDescribe.
enum class ControlMethod : std::uint8_t { kDescribe, kCancel, kSignal };

struct ControlReply {
  Status status;
  std::string message;   ///< the response, if `status` is ok
  bool is_last = false;  ///< the last snapshot of the job
};

/// The head's end of all clients.
class ControlServer {
 public:
  /// How long clients may take to read what they have been sent, when the server ends.
  static constexpr std::chrono::milliseconds kFarewell{250};
  /// Streams of Watch.
  static constexpr std::size_t kMaxWatchers = 16;
  /// Calls that wait for a reply of the head.
  static constexpr std::size_t kMaxCalls = 256;

  /// Ends all calls. Calls that do not end by themselves within kFarewell are cancelled.
  virtual ~ControlServer() = default;
  enum class Kind : std::uint8_t {
    kUnix,  ///< the peer's user is checked; neither TLS nor a token
    kTcp,   ///< TLS, and a token in each call
  };
  /// Takes over a connection that has been accepted.
  virtual void serve(UniqueFd connection, Kind kind) = 0;
  /// Sends a snapshot to all watchers. A watcher that still reads an earlier one gets the newest
  /// afterwards.
  virtual void publish(const ControlReply& snapshot) = 0;
  virtual bool has_watchers() const = 0;
};

struct ControlServeOptions {
  Certificate certificate;  ///< for kTcp; empty: there are only Unix sockets
  std::string token;        ///< for kTcp
  std::string unknown;      ///< the text of UNIMPLEMENTED for a method that the service lacks
  // gRPC's threads call these two. They return at once.
  /// `reply` is called once, by any thread. If it is destroyed instead, the call ends with
  /// UNAVAILABLE.
  std::function<void(ControlMethod method, std::string request,
                     std::function<void(const ControlReply&)> reply)>
      called;
  /// A call over TCP had the right token. `peer` is an address as gRPC writes it.
  std::function<void(const std::string& peer)> authenticated;
};

/// A client's end. One thread.
class ControlClient {
 public:
  virtual ~ControlClient() = default;
  /// The response. Code::kTimeout: the head has not answered within `patience`.
  /// Code::kUnavailable: it is gone. Other errors have the head's text.
  virtual Result<std::string> call(ControlMethod method, const std::string& request,
                                   std::chrono::milliseconds patience) = 0;
  /// Calls `got` for each snapshot until the last, or until `got` returns false. Code::kUnavailable
  /// also if the head does not answer for 10 s.
  virtual Status watch(const std::function<bool(const std::string& snapshot)>& got) = 0;
};

/// The functions of the module.
struct ControlModule {
  Result<std::unique_ptr<ControlServer>> (*serve)(ControlServeOptions options);
  /// Over a connected Unix socket.
  std::unique_ptr<ControlClient> (*connect)(UniqueFd connection);
  /// A snapshot as JSON with the names of job_v1.proto: one object, without a newline.
  Result<std::string> (*to_json)(const std::string& snapshot);
};

/// The module's one symbol: a ControlModule.
inline constexpr const char* kControlSymbol = "paceline_control_module";

/// Why this paceline has no control service; empty: it has one.
std::string control_is_off();

/// As load_grpc_module().
Result<const ControlModule*> load_control_module();

}  // namespace paceline::launcher
