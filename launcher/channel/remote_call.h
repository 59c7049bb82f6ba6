// The seam to gRPC: one stream of messages between an agent and its head, as bytes. The module
// behind it (grpc_module.cc) is loaded when somebody needs it; grpc_loader.h says why.
//
// The call is that of `service Agents` in messages.proto: the agent dials, the head serves, over
// TLS with the job's own certificate.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <paceline/status.h>

#include "comm/base/unique_fd.h"

namespace paceline::launcher {

/// What a call tells. Its threads call, never two at a time for one kind of event.
class CallEvents {
 public:
  virtual ~CallEvents() = default;
  /// After RemoteCall::read(): the next message; none: the peer sends no more, or has gone.
  virtual void on_read(std::optional<std::string> message) = 0;
  /// After RemoteCall::write(). False: it and what comes after it do not arrive.
  virtual void on_written(bool ok) = 0;
  /// The last event: ok where both sides have finished, else what was wrong.
  virtual void on_ended(const Status& why) = 0;
};

/// One thread calls, one read and one write at a time. After finish() nothing more may be asked
/// but await_end().
class RemoteCall {
 public:
  virtual ~RemoteCall() = default;
  virtual void read() = 0;
  virtual void write(const std::string& message) = 0;
  /// This side has no more to say once what it is writing is written. The head's end ends the call
  /// by that, the agent's waits for the head to end it.
  virtual void finish() = 0;
  /// Blocks until the call has ended, breaking it off once `patience` is over.
  virtual void await_end(std::chrono::milliseconds patience) = 0;
};

/// What an agent says before its first message.
struct Introduction {
  std::string token;    ///< that of its host: who has it is the agent
  std::string host;     ///< its index, in digits
  std::string version;  ///< build_name() of its paceline
};

/// What the head makes of one who introduces himself.
struct Admission {
  std::shared_ptr<CallEvents> events;  ///< null: refused. Owners: the call, and who gave it
  std::string refusal;
  std::function<void(std::shared_ptr<RemoteCall>)> begin;  ///< gets the call
};

/// The head's end of all its calls.
class CallServer {
 public:
  virtual ~CallServer() = default;
  /// Takes over a connection that has been accepted. What is not TLS is hung up on.
  virtual void serve(UniqueFd connection) = 0;
};

struct Certificate {
  std::string pem;
  std::string key_pem;  ///< its owner's alone
};

struct ServeOptions {
  Certificate certificate;
  std::size_t longest_message_bytes = 0;
  std::chrono::milliseconds handshake_patience{};
  /// Called by gRPC's threads with what a stranger may have written; `peer` is an address.
  std::function<Admission(const Introduction&, const std::string& peer)> admit;
};

struct DialOptions {
  std::string address;  ///< "10.0.0.1:4000"
  std::string certificate;
  std::size_t longest_message_bytes = 0;
  std::chrono::milliseconds patience{};
  Introduction introduction;
  std::shared_ptr<CallEvents> events;  ///< owners: the call, and who gave it
};

/// The functions of the module.
struct RemoteModule {
  Result<std::unique_ptr<CallServer>> (*serve)(ServeOptions options);
  /// Returns once the head has let this agent in.
  Result<std::shared_ptr<RemoteCall>> (*dial)(const DialOptions& options);
};

/// The name that the certificate and both ends agree on.
inline constexpr const char* kHeadName = "paceline-head";
/// The module's one symbol: a RemoteModule.
inline constexpr const char* kModuleSymbol = "paceline_remote_module";

/// As load_grpc_module().
Result<const RemoteModule*> load_remote_module();

}  // namespace paceline::launcher
