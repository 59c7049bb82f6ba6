#include "launcher/control/grpc_client.h"

#include <utility>

#include <google/protobuf/util/json_util.h>
#include <grpc/support/time.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>

#include "launcher/channel/grpc_process.h"
#include "launcher/proto/job_v1.grpc.pb.h"

namespace paceline::launcher {
namespace {

namespace v1 = job::v1;

Status to_status(const grpc::Status& status) {
  switch (status.error_code()) {
    case grpc::StatusCode::OK:
      return Status();
    case grpc::StatusCode::INVALID_ARGUMENT:
      return Status(Code::kInvalidArgument, Scope::kOperation, status.error_message());
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return Status(Code::kTimeout, Scope::kPeer, "the job does not answer");
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::CANCELLED:
      return Status(Code::kUnavailable, Scope::kPeer,
                    "the connection to the job was lost: " + status.error_message());
    default:
      return Status(Code::kDenied, Scope::kOperation, status.error_message());
  }
}

class Client final : public ControlClient {
 public:
  explicit Client(UniqueFd connection) : stub_(v1::Job::NewStub(make_channel(connection))) {}

  Result<std::string> call(ControlMethod method, const std::string& request,
                           std::chrono::milliseconds patience) override {
    const NoSignals guard;
    const gpr_timespec deadline = gpr_time_from_millis(patience.count(), GPR_TIMESPAN);
    switch (method) {
      case ControlMethod::kDescribe:
        return call<v1::DescribeRequest, v1::Snapshot>(&v1::Job::Stub::Describe, request, deadline);
      case ControlMethod::kCancel:
        return call<v1::CancelRequest, v1::CancelResponse>(&v1::Job::Stub::Cancel, request,
                                                           deadline);
      case ControlMethod::kSignal:
        return call<v1::SignalRequest, v1::SignalResponse>(&v1::Job::Stub::Signal, request,
                                                           deadline);
    }
    return Status(Code::kInternal, Scope::kOperation, "unknown method");
  }

  Status watch(const std::function<bool(const std::string&)>& got) override {
    const NoSignals guard;
    grpc::ClientContext context;
    const auto stream = stub_->Watch(&context, v1::WatchRequest());
    v1::Snapshot snapshot;
    bool wanted = true;
    while (wanted && stream->Read(&snapshot)) wanted = got(snapshot.SerializeAsString());
    if (!wanted) context.TryCancel();
    const Status ended = to_status(stream->Finish());
    return wanted ? ended : Status();
  }

 private:
  template <class Request, class Response>
  Result<std::string> call(grpc::Status (v1::Job::Stub::*method)(grpc::ClientContext*,
                                                                 const Request&, Response*),
                           const std::string& bytes, gpr_timespec deadline) {
    Request request;
    request.ParseFromString(bytes);
    Response response;
    grpc::ClientContext context;
    context.set_deadline(deadline);
    const Status status = to_status((stub_.get()->*method)(&context, request, &response));
    if (!status.ok()) return status;
    return response.SerializeAsString();
  }

  static std::shared_ptr<grpc::Channel> make_channel(UniqueFd& connection) {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kPingMs);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kPingMs);
    arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
    return grpc::CreateCustomInsecureChannelFromFd("job", connection.release(), arguments);
  }

  const std::unique_ptr<v1::Job::Stub> stub_;
};

}  // namespace

std::unique_ptr<ControlClient> connect_to_job(UniqueFd connection) {
  const NoSignals guard;
  silence_grpc();
  return std::make_unique<Client>(std::move(connection));
}

Result<std::string> snapshot_json(const std::string& snapshot) {
  v1::Snapshot message;
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string json;
  if (message.ParseFromString(snapshot) &&
      google::protobuf::util::MessageToJsonString(message, &json, options).ok())
    return json;
  return Status(Code::kInternal, Scope::kOperation, "a snapshot cannot be written as JSON");
}

}  // namespace paceline::launcher
