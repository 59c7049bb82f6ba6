#include "launcher/control/control_service.h"

#include <algorithm>
#include <utility>

#include <signal.h>

#include "comm/base/text.h"
#include "comm/base/try.h"
#include "launcher/channel/build_name.h"
#include "launcher/channel/certificate.h"
#include "launcher/channel/token.h"
#include "launcher/control/control_files.h"
#include "launcher/system/signal_source.h"

namespace paceline::launcher {
namespace {

namespace v1 = job::v1;

constexpr std::size_t kMaxClientBytes = 100;

// For messages of `paceline run`. Clients write what they like.
std::string name_of(const std::string& client) {
  return client.empty() ? "a client" : printable(client.substr(0, kMaxClientBytes));
}

template <class Message>
Result<Message> parse(const std::string& bytes) {
  Message message;
  if (message.ParseFromString(bytes)) return message;
  return Status(Code::kInvalidArgument, Scope::kOperation,
                "the request is not a message of paceline.job.v1");
}

std::string with_stacks(v1::Snapshot snapshot, const StacksByRank& stacks) {
  for (const auto& [rank, processes] : stacks) {
    if (std::cmp_greater_equal(rank, snapshot.ranks_size())) continue;
    v1::Rank& to = *snapshot.mutable_ranks(static_cast<int>(rank));
    for (const v1::Process& process : processes) *to.add_processes() = process;
  }
  return snapshot.SerializeAsString();
}

bool may_be_sent(int signal) {
  std::vector<int> allowed = warning_signals();
  allowed.insert(allowed.end(), {SIGINT, SIGTERM, SIGHUP});
  return std::ranges::find(allowed, signal) != allowed.end();
}

}  // namespace

Result<std::unique_ptr<ControlService>> ControlService::start(EventLoop& loop, Options options) {
  std::unique_ptr<ControlService> service(new ControlService(loop, std::move(options)));
  PACELINE_TRY(service->listen());
  return service;
}

// The end of the mailbox answers the calls in it, and so do those that wait for stacks. So the
// server does not wait for the loop.
ControlService::~ControlService() {
  unix_.reset();
  tcp_.reset();
  if (publishing_) loop_.cancel(*publishing_);
  mailbox_.reset();
  waiting_.clear();
  server_.reset();
}

// ---- Connections ---------------------------------------------------------------------------

Status ControlService::listen() {
  PACELINE_TRY_ASSIGN(const ControlFolder folder, ControlFolder::open(options_.folder));
  PACELINE_TRY_ASSIGN(unix_, ControlListener::listen(loop_, folder.socket(),
                                                     {.kind = ControlServer::Kind::kUnix,
                                                      .user = options_.user,
                                                      .log = options_.log,
                                                      .accepted = [this](UniqueFd connection) {
                                                        return serve(std::move(connection),
                                                                     ControlServer::Kind::kUnix);
                                                      }}));
  if (options_.tcp.empty()) return Status();
  PACELINE_TRY(listen_on_tcp());
  return folder.write(
      {.address = tcp_->address().to_string(), .certificate = certificate_.pem, .token = token_});
}

Status ControlService::listen_on_tcp() {
  PACELINE_TRY_ASSIGN(const SocketAddress address, SocketAddress::parse(options_.tcp));
  PACELINE_TRY_ASSIGN(certificate_, make_certificate());
  PACELINE_TRY_ASSIGN(token_, make_token());
  PACELINE_TRY_ASSIGN(tcp_, ControlListener::listen(loop_, address,
                                                    {.kind = ControlServer::Kind::kTcp,
                                                     .log = options_.log,
                                                     .accepted = [this](UniqueFd connection) {
                                                       return serve(std::move(connection),
                                                                    ControlServer::Kind::kTcp);
                                                     }}));
  return Status();
}

Status ControlService::serve(UniqueFd connection, ControlServer::Kind kind) {
  if (!server_) PACELINE_TRY(load());
  server_->serve(std::move(connection), kind);
  return Status();
}

// Letters of gRPC's threads are dropped when the mailbox is gone, so `this` is valid in each.
Status ControlService::load() {
  PACELINE_TRY_ASSIGN(const ControlModule* module, load_control_module());
  PACELINE_TRY_ASSIGN(mailbox_, Mailbox::make(loop_));
  const Mailbox::Sender sender = mailbox_->sender();
  PACELINE_TRY_ASSIGN(
      server_,
      module->serve({.certificate = certificate_,
                     .token = token_,
                     .unknown = "this job is of paceline " + std::string(build_name()) +
                                ", which serves paceline.job.v1; use a client of that version",
                     .called =
                         [this, sender](ControlMethod method, std::string request, auto reply) {
                           sender.post(
                               [this, method, request = std::move(request),
                                reply = std::move(reply)] { answer(method, request, reply); });
                         },
                     .authenticated =
                         [this, sender](const std::string& peer) {
                           sender.post([this, peer] {
                             if (tcp_) tcp_->authenticated(peer);
                           });
                         }}));
  return Status();
}

// ---- Calls ---------------------------------------------------------------------------------

void ControlService::answer(ControlMethod method, const std::string& request, const Reply& reply) {
  switch (method) {
    case ControlMethod::kDescribe:
      return describe(request, reply);
    case ControlMethod::kCancel:
      return reply({.status = cancel(request)});
    case ControlMethod::kSignal:
      return reply({.status = signal(request)});
  }
  reply({.status = Status(Code::kInternal, Scope::kOperation, "unknown method")});
}

// The snapshot is of the moment when all stacks are there.
void ControlService::describe(const std::string& request, const Reply& reply) {
  const auto asked = parse<v1::DescribeRequest>(request);
  if (!asked.ok()) return reply({.status = asked.status()});
  if (last_ || asked->stacks_of().empty() || !options_.take_stacks)
    return reply(last_ ? *last_ : describe());
  const std::uint64_t number = ++last_waiting_;
  waiting_.emplace(number, reply);
  options_.take_stacks({asked->stacks_of().begin(), asked->stacks_of().end()},
                       [this, number](const Result<StacksByRank>& taken) {
                         const auto call = waiting_.extract(number);
                         if (call.empty()) return;
                         if (!taken.ok()) return call.mapped()({.status = taken.status()});
                         call.mapped()({.message = with_stacks(options_.snapshot(), *taken)});
                       });
}

ControlReply ControlService::describe() const {
  const v1::Snapshot snapshot = options_.snapshot();
  return {.message = snapshot.SerializeAsString(), .is_last = snapshot.phase() == v1::PHASE_ENDED};
}

// SIGINT is what `paceline cancel --now` has always sent, and decides the exit code.
Status ControlService::cancel(const std::string& request) {
  PACELINE_TRY_ASSIGN(const auto order, parse<v1::CancelRequest>(request));
  return options_.signalled({.signal = order.now() ? SIGINT : SIGTERM,
                             .why = "cancelled by " + name_of(order.client()),
                             .kills = order.now()});
}

Status ControlService::signal(const std::string& request) {
  PACELINE_TRY_ASSIGN(const auto order, parse<v1::SignalRequest>(request));
  if (!may_be_sent(order.signal()))
    return Status(Code::kInvalidArgument, Scope::kOperation,
                  "signal " + std::to_string(order.signal()) +
                      " cannot be sent to the job; use SIGINT (2), SIGTERM (15), SIGHUP (1), "
                      "SIGUSR1 (10), SIGUSR2 (12) or another one that job_v1.proto names");
  return options_.signalled(
      {.signal = order.signal(),
       .why = signal_name(order.signal()) + " came from " + name_of(order.client())});
}

// ---- Snapshots -----------------------------------------------------------------------------

void ControlService::saw(TimePoint now, const JobEvent&, const JobState& state) {
  if (last_) return;
  if (state.finished) {
    last_ = describe();
    if (server_) server_->publish(*last_);
    for (const auto& [number, reply] : std::exchange(waiting_, {})) reply(*last_);
  } else if (server_ && server_->has_watchers() && !publishing_) {
    publishing_ = loop_.at(std::max(now, published_ + kMinPeriod), [this] { publish(); });
  }
}

void ControlService::publish() {
  publishing_.reset();
  if (last_) return;
  published_ = loop_.clock().now();
  server_->publish(describe());
}

}  // namespace paceline::launcher
