#include "launcher/channel/head_dial.h"

#include <cstddef>
#include <map>
#include <optional>
#include <utility>
#include <vector>

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

// Whether anybody listens at an address, in the kernel's words: gRPC's own are long and have no
// bound. All are asked at once: one that leads nowhere says nothing, and holds up no other.
class Knocks {
 public:
  struct Answer {
    std::size_t index = 0;  // of the address
    Status status;
  };

  Knocks(const Clock& clock, const messages::Invitation& invitation)
      : clock_(clock), deadline_(Deadline::after(clock, kAnswerPatience)) {
    for (const std::string& address : invitation.addresses()) waiting_.push_back(start(address));
  }

  /// The next in the order in which they come, then those that never did; each once.
  std::optional<Answer> next() {
    while (!waiting_.empty()) {
      if (auto answer = find_answer()) return answer;
      std::vector<pollfd> polled;
      for (const Knock& knock : waiting_)
        polled.push_back({.fd = knock.socket.get(), .events = POLLOUT, .revents = 0});
      const auto left = std::chrono::ceil<milliseconds>(deadline_.left(clock_.now()));
      if (left == left.zero()) return take(0, no_answer());
      ::poll(polled.data(), polled.size(), static_cast<int>(left.count()));
    }
    return std::nullopt;
  }

 private:
  struct Knock {
    std::size_t index = 0;
    std::optional<SocketAddress> there;
    UniqueFd socket;
    Status status;
  };

  Knock start(const std::string& address) {
    Knock knock{.index = waiting_.size()};
    const Result<SocketAddress> there = SocketAddress::parse(address);
    Result<UniqueFd> socket = there.ok() ? start_connect(*there) : there.status();
    knock.status = socket.status();
    if (there.ok()) knock.there = *there;
    if (socket.ok()) knock.socket = *std::move(socket);
    return knock;
  }
  std::optional<Answer> find_answer() {
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
      const Knock& knock = waiting_[i];
      if (!knock.status.ok()) return take(i, knock.status);
      pollfd decided{.fd = knock.socket.get(), .events = POLLOUT, .revents = 0};
      if (::poll(&decided, 1, 0) > 0) return take(i, connect_error(decided.fd, *knock.there));
    }
    return std::nullopt;
  }
  Answer take(std::size_t place, Status status) {
    Answer answer{.index = waiting_[place].index, .status = std::move(status)};
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(place));
    return answer;
  }
  static Status no_answer() {
    return Status(Code::kTimeout, Scope::kPeer,
                  "no answer within " + seconds_text(kAnswerPatience));
  }

  const Clock& clock_;
  const Deadline deadline_;
  std::vector<Knock> waiting_;
};

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
  std::map<std::size_t, std::string> failures;
  Knocks knocks(loop.clock(), invitation);
  while (const auto answer = knocks.next()) {
    const std::string& address = invitation.addresses(static_cast<int>(answer->index));
    Status status = answer->status;
    if (status.ok()) {
      Result<std::unique_ptr<HeadChannel>> channel = dial.try_one(loop, *module, address);
      if (channel.ok() || channel.status().code() == Code::kDenied) return channel;
      status = channel.status();
    }
    failures[answer->index] = address + ": " + last_error(status, address);
  }
  std::string tried;
  for (const auto& [index, failure] : failures)
    tried.append(tried.empty() ? "" : "; at ").append(failure);
  return Status(
      Code::kUnavailable, Scope::kPeer,
      "the agent runs but cannot reach the head at " + (tried.empty() ? "no address" : tried));
}

}  // namespace paceline::launcher
