#include "launcher/channel/head_dial.h"

#include <utility>

#include <poll.h>

#include "comm/base/text.h"
#include "comm/base/try.h"
#include "comm/socket.h"
#include "launcher/channel/frame.h"
#include "launcher/channel/watchful_socket.h"

namespace paceline::launcher {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kAnswerPatience{3000};
constexpr milliseconds kAdmissionPatience{10000};
// As long as output files may take: a console that nobody reads holds up the last words, too.
constexpr milliseconds kLastWords{300000};

// Whether anybody listens there, in the kernel's words: gRPC's own are long and have no bound.
Status knock(const std::string& address) {
  PACELINE_TRY_ASSIGN(const SocketAddress there, SocketAddress::parse(address));
  PACELINE_TRY_ASSIGN(const UniqueFd socket, start_connect(there));
  pollfd decided{.fd = socket.get(), .events = POLLOUT, .revents = 0};
  if (::poll(&decided, 1, static_cast<int>(kAnswerPatience.count())) == 0)
    return Status(Code::kTimeout, Scope::kPeer,
                  "no answer within " + seconds_text(kAnswerPatience));
  return connect_error(socket.get(), there);
}

// What was wrong comes last, behind the address: "cannot connect to 10.0.0.1:4000: Connection
// refused", and much longer from gRPC.
std::string last_error(const Status& status, const std::string& address) {
  const std::string before = address + ": ";
  const std::size_t at = status.text().rfind(before);
  return printable(at == std::string::npos ? status.text()
                                           : status.text().substr(at + before.size()));
}

int port_of(const std::string& address) {
  return parse_number<int>(address.substr(address.rfind(':') + 1)).value_or(0);
}

class HeadDial {
 public:
  HeadDial(const messages::Invitation& invitation, Introduction introduction)
      : certificate_(invitation.certificate()), introduction_(std::move(introduction)) {}

  Result<std::unique_ptr<HeadChannel>> try_one(EventLoop& loop, const RemoteModule& module,
                                               const std::string& address) {
    PACELINE_TRY(knock(address));
    PACELINE_TRY_ASSIGN(auto mailbox, Mailbox::make(loop));
    auto relay = RemoteStream::make_relay(mailbox->sender());
    PACELINE_TRY_ASSIGN(auto call, module.dial({.address = address,
                                                .certificate = certificate_,
                                                .longest_message_bytes = kMaxFrameBytes,
                                                .patience = kAdmissionPatience,
                                                .introduction = introduction_,
                                                .events = RemoteStream::events_of(relay)}));
    be_watchful_to(port_of(address));
    auto stream = std::make_unique<RemoteStream>(std::move(relay), std::move(call), "head");
    return std::unique_ptr<HeadChannel>(
        std::make_unique<RemoteChannel<messages::FromAgent, messages::ToAgent>>(
            std::move(mailbox), std::move(stream), kLastWords));
  }

 private:
  const std::string certificate_;
  const Introduction introduction_;
};

}  // namespace

Result<std::unique_ptr<HeadChannel>> dial_head(EventLoop& loop,
                                               const messages::Invitation& invitation,
                                               const messages::Seat& seat,
                                               const std::string& version) {
  PACELINE_TRY_ASSIGN(const RemoteModule* module, load_remote_module());
  HeadDial dial(invitation,
                {.token = seat.token(), .host = std::to_string(seat.index()), .version = version});
  std::string tried;
  for (const std::string& address : invitation.addresses()) {
    Result<std::unique_ptr<HeadChannel>> channel = dial.try_one(loop, *module, address);
    if (channel.ok() || channel.status().code() == Code::kDenied) return channel;
    tried +=
        (tried.empty() ? "" : "; at ") + address + ": " + last_error(channel.status(), address);
  }
  return Status(
      Code::kUnavailable, Scope::kPeer,
      "the agent runs but cannot reach the head at " + (tried.empty() ? "no address" : tried));
}

}  // namespace paceline::launcher
