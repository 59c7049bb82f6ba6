// The module of the control service (control_module.h): the head's end. grpc_watch.cc has its
// streams, and grpc_client.cc a client's end. Nothing else of the service uses gRPC.
//
// The head accepts connections and hands over their descriptors. Tokens are checked by the
// credentials of TLS connections, so that reflection needs one, too.
#include <atomic>
#include <mutex>
#include <set>
#include <utility>

#include <grpc/support/time.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/auth_metadata_processor.h>

#include "launcher/channel/grpc_process.h"
#include "launcher/channel/token.h"
#include "launcher/control/control_module.h"
#include "launcher/control/grpc_client.h"
#include "launcher/control/grpc_watch.h"
#include "launcher/proto/job_v1.grpc.pb.h"

namespace paceline::launcher {
namespace {

namespace v1 = job::v1;

using Reply = std::function<void(const ControlReply&)>;

constexpr int kMaxRequestBytes = 64 << 10;
constexpr int kMaxCallsPerConnection = 8;
constexpr int kMaxReflectionThreads = 4;
constexpr int kHandshakeMs = 20'000;  // longer than the head's own limit, which logs
constexpr int kMaxIdleMs = 60'000;    // of a connection without calls

grpc::ByteBuffer to_buffer(const std::string& message) {
  const grpc::Slice slice(message);
  return grpc::ByteBuffer(&slice, 1);
}

std::string to_text(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string text;
  if (!buffer.Dump(&slices).ok()) return text;
  for (const grpc::Slice& slice : slices)
    text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return text;
}

grpc::Status to_grpc(const Status& status) {
  switch (status.code()) {
    case Code::kOk:
      return grpc::Status::OK;
    case Code::kInvalidArgument:
      return {grpc::StatusCode::INVALID_ARGUMENT, status.text()};
    case Code::kExhausted:
      return {grpc::StatusCode::RESOURCE_EXHAUSTED, status.text()};
    default:
      return {grpc::StatusCode::FAILED_PRECONDITION, status.text()};
  }
}

// ---- The head's end ------------------------------------------------------------------------

class TokenCheck final : public grpc::AuthMetadataProcessor {
 public:
  explicit TokenCheck(const std::string& token) : expected_("Bearer " + token) {}

  bool IsBlocking() const override { return false; }
  grpc::Status Process(const InputMetadata& metadata, grpc::AuthContext*, OutputMetadata* consumed,
                       OutputMetadata*) override {
    const auto found = metadata.find(kName);
    if (found == metadata.end())
      return {grpc::StatusCode::UNAUTHENTICATED,
              "this call has no token; send the metadata 'authorization: Bearer TOKEN' "
              "(`paceline status JOB --connect` shows where the token is)"};
    if (!same_token({found->second.data(), found->second.size()}, expected_))
      return {grpc::StatusCode::UNAUTHENTICATED, "the token is not that of this job"};
    consumed->insert({kName, std::string(found->second.data(), found->second.size())});
    return grpc::Status::OK;
  }

 private:
  static constexpr const char* kName = "authorization";
  const std::string expected_;
};

// A call that waits for the head's reply. gRPC keeps the reactor until Finish().
class PendingCall {
 public:
  PendingCall(std::atomic<std::size_t>& count, grpc::ServerUnaryReactor* reactor,
              grpc::ByteBuffer* response)
      : count_(count), reactor_(reactor), response_(response) {}
  ~PendingCall() {
    --count_;
    finish({grpc::StatusCode::UNAVAILABLE, "the job has ended"});
  }
  PendingCall(const PendingCall&) = delete;
  PendingCall& operator=(const PendingCall&) = delete;

  void reply(const ControlReply& reply) {
    if (reply.status.ok()) *response_ = to_buffer(reply.message);
    finish(to_grpc(reply.status));
  }

 private:
  void finish(const grpc::Status& status) {
    const NoSignals guard;
    if (auto* reactor = std::exchange(reactor_, nullptr)) reactor->Finish(status);
  }

  std::atomic<std::size_t>& count_;
  grpc::ServerUnaryReactor* reactor_;
  grpc::ByteBuffer* const response_;
};

class Watchers {
 public:
  // Null: there are too many.
  std::shared_ptr<WatchStream> add() {
    const std::lock_guard lock(mutex_);
    if (streams_.size() == ControlServer::kMaxWatchers) return nullptr;
    auto stream = WatchStream::make([this](WatchStream* gone) { remove(gone); });
    streams_.insert(stream);
    return stream;
  }
  bool empty() const {
    const std::lock_guard lock(mutex_);
    return streams_.empty();
  }
  std::set<std::shared_ptr<WatchStream>> all() const {
    const std::lock_guard lock(mutex_);
    return streams_;
  }

 private:
  void remove(const WatchStream* gone) {
    const std::lock_guard lock(mutex_);
    std::erase_if(streams_, [gone](const auto& stream) { return stream.get() == gone; });
  }

  mutable std::mutex mutex_;                        // of what follows
  std::set<std::shared_ptr<WatchStream>> streams_;  // owners: this, and themselves
};

using RawService = v1::Job::WithRawCallbackMethod_Describe<
    v1::Job::WithRawCallbackMethod_Watch<v1::Job::WithRawCallbackMethod_Cancel<
        v1::Job::WithRawCallbackMethod_Signal<v1::Job::Service>>>>;

class Service final : public RawService {
 public:
  explicit Service(const ControlServeOptions& options)
      : called_(options.called), authenticated_(options.authenticated) {}

  void publish(const ControlReply& snapshot) {
    const WatchedSnapshot one{.bytes = to_buffer(snapshot.message), .is_last = snapshot.is_last};
    for (const auto& stream : watchers_.all()) stream->offer(one);
  }
  bool has_watchers() const { return !watchers_.empty(); }

 private:
  grpc::ServerUnaryReactor* Describe(grpc::CallbackServerContext* context,
                                     const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* response) override {
    return unary(ControlMethod::kDescribe, context, request, response);
  }
  grpc::ServerUnaryReactor* Cancel(grpc::CallbackServerContext* context,
                                   const grpc::ByteBuffer* request,
                                   grpc::ByteBuffer* response) override {
    return unary(ControlMethod::kCancel, context, request, response);
  }
  grpc::ServerUnaryReactor* Signal(grpc::CallbackServerContext* context,
                                   const grpc::ByteBuffer* request,
                                   grpc::ByteBuffer* response) override {
    return unary(ControlMethod::kSignal, context, request, response);
  }

  grpc::ServerUnaryReactor* unary(ControlMethod method, grpc::CallbackServerContext* context,
                                  const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
    authenticated_(context->peer());
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    const std::size_t before = calls_++;
    const auto call = std::make_shared<PendingCall>(calls_, reactor, response);
    if (before >= ControlServer::kMaxCalls) {
      call->reply({.status = Status(Code::kExhausted, Scope::kOperation,
                                    "too many calls wait for the job; try again later")});
    } else {
      called_(method, to_text(*request), [call](const ControlReply& reply) { call->reply(reply); });
    }
    return reactor;
  }

  grpc::ServerWriteReactor<grpc::ByteBuffer>* Watch(grpc::CallbackServerContext* context,
                                                    const grpc::ByteBuffer*) override {
    authenticated_(context->peer());
    const std::shared_ptr<WatchStream> stream = watchers_.add();
    if (stream == nullptr) {
      const auto refused = WatchStream::make([](WatchStream*) {});
      refused->refuse({grpc::StatusCode::RESOURCE_EXHAUSTED,
                       "the job has " + std::to_string(ControlServer::kMaxWatchers) +
                           " watchers, and no more are allowed; use Describe"});
      return refused.get();
    }
    called_(ControlMethod::kDescribe, "", [stream](const ControlReply& reply) {
      stream->offer({.bytes = to_buffer(reply.message), .is_last = reply.is_last});
    });
    return stream.get();
  }

  const std::function<void(ControlMethod, std::string, Reply)> called_;
  const std::function<void(const std::string&)> authenticated_;
  std::atomic<std::size_t> calls_ = 0;
  Watchers watchers_;
};

// Clients of other versions get a sentence.
class UnknownMethods final : public grpc::CallbackGenericService {
 public:
  explicit UnknownMethods(std::string why) : why_(std::move(why)) {}

 private:
  class Refusal final : public grpc::ServerGenericBidiReactor {
   public:
    explicit Refusal(const std::string& why) { Finish({grpc::StatusCode::UNIMPLEMENTED, why}); }
    void OnDone() override { delete this; }
  };
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    return new Refusal("unknown method " + context->method() + ": " + why_);
  }
  const std::string why_;
};

class Server final : public ControlServer {
 public:
  explicit Server(const ControlServeOptions& options)
      : service_(options), unknown_(options.unknown) {
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    grpc::ServerBuilder builder;
    unix_ = accept(builder, grpc::InsecureServerCredentials());
    if (!options.certificate.pem.empty()) {
      grpc::SslServerCredentialsOptions tls;
      tls.pem_key_cert_pairs.push_back({options.certificate.key_pem, options.certificate.pem});
      const auto credentials = grpc::SslServerCredentials(tls);
      credentials->SetAuthMetadataProcessor(std::make_shared<TokenCheck>(options.token));
      tcp_ = accept(builder, credentials);
    }
    limit(builder);
    builder.RegisterService(&service_);
    builder.RegisterCallbackGenericService(&unknown_);
    server_ = builder.BuildAndStart();
  }
  ~Server() override {
    const NoSignals guard;
    if (server_) server_->Shutdown(gpr_time_from_millis(kFarewell.count(), GPR_TIMESPAN));
  }

  bool started() const { return server_ != nullptr; }

  void serve(UniqueFd connection, Kind kind) override {
    const NoSignals guard;
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters parameters;
    parameters.fd = connection.release();
    (kind == Kind::kUnix ? unix_ : tcp_)->HandleNewConnection(&parameters);
  }
  void publish(const ControlReply& snapshot) override { service_.publish(snapshot); }
  bool has_watchers() const override { return service_.has_watchers(); }

 private:
  using Acceptor = std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor>;

  static Acceptor accept(grpc::ServerBuilder& builder,
                         const std::shared_ptr<grpc::ServerCredentials>& credentials) {
    return builder.experimental().AddExternalConnectionAcceptor(
        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, credentials);
  }

  static void limit(grpc::ServerBuilder& builder) {
    builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeMs);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kMaxIdleMs);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxCallsPerConnection);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 2 * kPingMs);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kPingMs);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kPingMs / 5);
    builder.SetMaxReceiveMessageSize(kMaxRequestBytes);
    builder.SetMaxSendMessageSize(-1);
    // Reflection is a synchronous service: a thread for each of its streams.
    grpc::ResourceQuota quota;
    quota.SetMaxThreads(kMaxReflectionThreads);
    builder.SetResourceQuota(quota);
    builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::NUM_CQS, 1);
    builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::MIN_POLLERS, 1);
    builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::MAX_POLLERS, 1);
  }

  Service service_;
  UnknownMethods unknown_;
  Acceptor unix_;
  Acceptor tcp_;
  std::unique_ptr<grpc::Server> server_;
};

Result<std::unique_ptr<ControlServer>> serve(ControlServeOptions options) {
  const NoSignals guard;
  silence_grpc();
  auto server = std::make_unique<Server>(options);
  if (server->started()) return std::unique_ptr<ControlServer>(std::move(server));
  return Status(Code::kInternal, Scope::kProcess, "gRPC cannot start a server");
}

}  // namespace

// Named by kControlSymbol, for dlsym(). NOLINTBEGIN(readability-identifier-naming)
extern "C" __attribute__((visibility("default"))) const ControlModule paceline_control_module{
    .serve = serve, .connect = connect_to_job, .to_json = snapshot_json};
// NOLINTEND(readability-identifier-naming)

}  // namespace paceline::launcher
