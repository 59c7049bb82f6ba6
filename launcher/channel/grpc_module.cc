// The module that speaks gRPC: everything of it that Paceline uses is in this file (remote_call.h).
//
// The callback interface of gRPC and the generated service, with messages as bytes: the thread of
// the loop parses them. The generated stub has no such form, so the agent's end names the method. A
// call ends when its reactor hears OnDone; until then it owns itself.
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <utility>

#include <grpc/support/time.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include "launcher/channel/grpc_process.h"
#include "launcher/channel/messages.grpc.pb.h"
#include "launcher/channel/remote_call.h"

namespace paceline::launcher {
namespace {

using messages::Agents;

constexpr const char* kTokenName = "paceline-token";
constexpr const char* kHostName = "paceline-host";
constexpr const char* kVersionName = "paceline-version";
// What is under way on a stream before its reader has asked for more. It fits a socket's buffer,
// so a peer that is stopped (Ctrl-Z) does not make TCP believe that its host is gone.
constexpr int kWindowBytes = 64 << 10;
constexpr std::chrono::milliseconds kShutdown{2000};

std::string method() { return std::string("/") + Agents::service_full_name() + "/Serve"; }

// gRPC 1.51 counts the users of the queue on which all callbacks run, and when the last channel
// goes, joins the queue's threads: aborts, where one of these lets go of the channel. So there is
// one channel more, which is connected to nothing and never goes; a call of it uses the queue.
class QueueUser final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  QueueUser()
      : stub_(grpc::CreateChannel("unix-abstract:paceline-nobody",
                                  grpc::InsecureChannelCredentials())) {
    stub_.PrepareBidiStreamingCall(&context_, method(), {}, this);
  }

 private:
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
};

// Kept where the leak sanitizer finds it, though nobody reads it.
[[gnu::used]] const QueueUser* queue_user = nullptr;
std::once_flag queue_is_kept;
void keep_queue() {
  std::call_once(queue_is_kept, [] { queue_user = new QueueUser; });
}

grpc::ByteBuffer to_buffer(const std::string& message) {
  grpc::Slice slice(message);
  return grpc::ByteBuffer(&slice, 1);
}

std::optional<std::string> to_text(grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  if (!buffer.Dump(&slices).ok()) return std::nullopt;
  std::string text;
  text.reserve(buffer.Length());
  for (const grpc::Slice& slice : slices)
    text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  buffer.Clear();
  return text;
}

Status to_status(const grpc::Status& status) {
  if (status.ok()) return Status();
  const bool denied = status.error_code() == grpc::StatusCode::PERMISSION_DENIED;
  return Status(denied ? Code::kDenied : Code::kUnavailable, Scope::kPeer, status.error_message());
}

// What both ends have in common. Reactor has StartRead and StartWrite.
template <class Reactor>
class Call : public RemoteCall, public Reactor {
 public:
  void read() final {
    const NoSignals guard;
    this->StartRead(&incoming_);
  }
  void write(const std::string& message) final {
    const NoSignals guard;
    outgoing_ = to_buffer(message);
    {
      const std::lock_guard lock(mutex_);
      writing_ = true;
    }
    this->StartWrite(&outgoing_);
  }
  void finish() final {
    const NoSignals guard;
    {
      const std::lock_guard lock(mutex_);
      if (std::exchange(finishing_, true) || writing_) return;
    }
    end();
  }
  void await_end(std::chrono::milliseconds patience) final {
    if (ended_within(patience)) return;
    cancel();
    ended_within(kShutdown);
  }

 protected:
  explicit Call(std::shared_ptr<CallEvents> events) : events_(std::move(events)) {}

  // Nothing more will be started from outside.
  virtual void end() = 0;
  virtual void cancel() = 0;

  void OnReadDone(bool ok) final { events_->on_read(ok ? to_text(incoming_) : std::nullopt); }
  void OnWriteDone(bool ok) final {
    bool ends = false;
    {
      const std::lock_guard lock(mutex_);
      writing_ = false;
      ends = finishing_;
    }
    events_->on_written(ok);
    if (ends) end();
  }
  void note_end(const Status& why) {
    events_->on_ended(why);
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    // The last owner may be this one.
    const std::shared_ptr<RemoteCall> self = std::exchange(self_, nullptr);
  }

  std::shared_ptr<RemoteCall> self_;  // until it has ended; the other owner is who uses the call

 private:
  bool ended_within(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [this] { return ended_; });
  }

  const std::shared_ptr<CallEvents> events_;
  grpc::ByteBuffer incoming_;
  grpc::ByteBuffer outgoing_;
  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  bool writing_ = false;
  bool finishing_ = false;
  bool ended_ = false;
};

// ---- The head's end ------------------------------------------------------------------------

using BytesReactor = grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;

class ServedCall final : public Call<BytesReactor> {
 public:
  static ServedCall* make(grpc::CallbackServerContext* context, const Admission& admission) {
    const std::shared_ptr<ServedCall> call(new ServedCall(context, admission.events));
    call->self_ = call;
    call->StartSendInitialMetadata();
    admission.begin(call);
    return call.get();
  }

 private:
  ServedCall(grpc::CallbackServerContext* context, std::shared_ptr<CallEvents> events)
      : Call(std::move(events)), context_(context) {}

  void end() override { Finish(grpc::Status::OK); }
  void cancel() override { context_->TryCancel(); }
  void OnCancel() override { cancelled_ = true; }
  void OnDone() override {
    note_end(cancelled_ ? Status(Code::kUnavailable, Scope::kPeer, "the connection is lost")
                        : Status());
  }

  grpc::CallbackServerContext* const context_;
  std::atomic<bool> cancelled_ = false;
};

class Refusal final : public BytesReactor {
 public:
  explicit Refusal(const std::string& why) {
    Finish(grpc::Status(grpc::StatusCode::PERMISSION_DENIED, why));
  }
  void OnDone() override { delete this; }
};

class Server final : public CallServer,
                     private Agents::WithRawCallbackMethod_Serve<Agents::Service> {
 public:
  explicit Server(ServeOptions options) : admit_(std::move(options.admit)) {
    grpc::ServerBuilder builder;
    grpc::SslServerCredentialsOptions tls;
    tls.pem_key_cert_pairs.push_back({options.certificate.key_pem, options.certificate.pem});
    acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
        grpc::SslServerCredentials(tls));
    const int patience_ms = static_cast<int>(options.handshake_patience.count());
    builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, patience_ms);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, patience_ms);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, 1);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kWindowBytes);
    builder.SetMaxReceiveMessageSize(static_cast<int>(options.longest_message_bytes));
    builder.SetMaxSendMessageSize(-1);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~Server() override {
    const NoSignals guard;
    // Calls that their owners have finished get the time to say so.
    if (server_) server_->Shutdown(gpr_time_from_millis(kShutdown.count(), GPR_TIMESPAN));
  }

  bool started() const { return server_ != nullptr; }

  void serve(UniqueFd connection) override {
    const NoSignals guard;
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters parameters;
    parameters.fd = connection.release();
    acceptor_->HandleNewConnection(&parameters);
  }

 private:
  BytesReactor* Serve(grpc::CallbackServerContext* context) override {
    const auto said = [context](const char* name) {
      const auto found = context->client_metadata().find(name);
      if (found == context->client_metadata().end()) return std::string();
      return std::string(found->second.data(), found->second.size());
    };
    const Admission admission =
        admit_({.token = said(kTokenName), .host = said(kHostName), .version = said(kVersionName)},
               context->peer());
    if (!admission.events) return new Refusal(admission.refusal);
    return ServedCall::make(context, admission);
  }

  std::function<Admission(const Introduction&, const std::string&)> admit_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::unique_ptr<grpc::Server> server_;
};

Result<std::unique_ptr<CallServer>> serve(ServeOptions options) {
  const NoSignals guard;
  silence_grpc();
  keep_queue();
  auto server = std::make_unique<Server>(std::move(options));
  if (server->started()) return std::unique_ptr<CallServer>(std::move(server));
  return Status(Code::kInternal, Scope::kProcess, "gRPC cannot start a server");
}

// ---- The agent's end -----------------------------------------------------------------------

class DialedCall final : public Call<grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>> {
 public:
  static std::shared_ptr<DialedCall> make(const DialOptions& options) {
    std::shared_ptr<DialedCall> call(new DialedCall(options));
    call->self_ = call;
    call->AddHold();
    call->StartCall();
    return call;
  }

  // How the head answered. Breaks the call off where it did not.
  Status await_answer(std::chrono::milliseconds patience) {
    bool answered = false;
    {
      std::unique_lock lock(answer_mutex_);
      if (answered_.wait_for(lock, patience, [this] { return let_in_.has_value(); }) && *let_in_)
        return Status();
      answered = let_in_.has_value();
    }
    if (!answered) cancel();
    finish();
    await_end(kShutdown);
    if (!answered)
      return Status(Code::kTimeout, Scope::kPeer,
                    "accepts connections but does not answer; the host is busy, or the network "
                    "loses long packets");
    const std::lock_guard lock(answer_mutex_);
    return why_;
  }

 private:
  explicit DialedCall(const DialOptions& options)
      : Call(options.events), stub_(make_channel(options)) {
    context_.AddMetadata(kTokenName, options.introduction.token);
    context_.AddMetadata(kHostName, options.introduction.host);
    context_.AddMetadata(kVersionName, options.introduction.version);
    stub_.PrepareBidiStreamingCall(&context_, method(), {}, this);
  }

  static std::shared_ptr<grpc::Channel> make_channel(const DialOptions& options) {
    grpc::ChannelArguments arguments;
    arguments.SetSslTargetNameOverride(kHeadName);
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kWindowBytes);
    arguments.SetMaxReceiveMessageSize(static_cast<int>(options.longest_message_bytes));
    const std::string target =
        (options.address.front() == '[' ? "ipv6:" : "ipv4:") + options.address;
    return grpc::CreateCustomChannel(
        target, grpc::SslCredentials({.pem_root_certs = options.certificate}), arguments);
  }

  void end() override {
    StartWritesDone();
    RemoveHold();
  }
  void cancel() override { context_.TryCancel(); }
  void OnReadInitialMetadataDone(bool ok) override {
    {
      const std::lock_guard lock(answer_mutex_);
      let_in_ = ok;
    }
    answered_.notify_all();
  }
  void OnDone(const grpc::Status& status) override {
    {
      const std::lock_guard lock(answer_mutex_);
      why_ = to_status(status);
    }
    note_end(to_status(status));
  }

  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  std::mutex answer_mutex_;  // of what follows
  std::condition_variable answered_;
  std::optional<bool> let_in_;
  Status why_;
};

Result<std::shared_ptr<RemoteCall>> dial(const DialOptions& options) {
  const NoSignals guard;
  silence_grpc();
  keep_queue();
  auto call = DialedCall::make(options);
  if (Status answer = call->await_answer(options.patience); !answer.ok()) return answer;
  return std::shared_ptr<RemoteCall>(std::move(call));
}

}  // namespace

// Named by kModuleSymbol, for dlsym(). NOLINTBEGIN(readability-identifier-naming)
extern "C" __attribute__((visibility("default")))
const RemoteModule paceline_remote_module{.serve = serve, .dial = dial};
// NOLINTEND(readability-identifier-naming)

}  // namespace paceline::launcher
