#include "comm/store_strangers.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include <sys/socket.h>

#include "comm/base/random.h"
#include "comm/socket.h"

namespace paceline {

bool StoreStrangers::has_room(TimePoint now) const {
  return strangers_.size() < kMax || now >= strangers_.front().came + kGrace;
}

void StoreStrangers::admit(UniqueFd fd, TimePoint now) {
  const Result<SocketAddress> remote = SocketAddress::of_remote_end(fd.get());
  AcceptorHandshake::Nonce nonce;
  if (!fill_system_random(nonce).ok()) return;  // the key would be worth nothing
  if (strangers_.size() >= kMax) refuse_oldest(StrangerBook::kGaveWay);
  strangers_.push_back(
      {.fd = std::move(fd),
       .address = remote.ok() ? remote->to_string() : "a peer that has disconnected",
       .handshake = AcceptorHandshake(key_, nonce),
       .came = now});
  const Stranger& stranger = strangers_.back();
  const ByteView challenge = stranger.handshake.challenge();
  // A fresh socket has room for it. Who has arranged that it has none could not prove anything.
  (void)::send(stranger.fd.get(), challenge.data(), challenge.size(), MSG_NOSIGNAL);
}

bool StoreStrangers::drop_oldest(TimePoint now) {
  if (strangers_.empty() || now < strangers_.front().came + kGrace) return false;
  refuse_oldest(StrangerBook::kGaveWay);
  return true;
}

void StoreStrangers::refuse_oldest(std::string_view why) {
  book_.refused(strangers_.front().address, why);
  strangers_.pop_front();
}

void StoreStrangers::append_to(std::vector<pollfd>& polled) const {
  for (const Stranger& stranger : strangers_) {
    polled.push_back({.fd = stranger.fd.get(), .events = POLLIN});
  }
}

std::vector<StoreStrangers::Proven> StoreStrangers::drive(std::span<const pollfd> polled,
                                                          TimePoint now) {
  std::vector<Proven> proven;
  std::size_t i = 0;
  for (auto next = strangers_.begin(); next != strangers_.end(); ++i) {
    const auto stranger = next++;
    const Outcome outcome = polled[i].revents == 0 ? Outcome::kPending : hear(*stranger);
    if (outcome == Outcome::kPending) continue;
    if (outcome == Outcome::kProven) {
      const auto welcome = stranger->handshake.welcome(Verdict::kAccepted);
      proven.push_back({.fd = std::move(stranger->fd),
                        .address = std::move(stranger->address),
                        .unsent = Bytes(welcome.begin(), welcome.end())});
    }
    strangers_.erase(stranger);
  }
  while (!strangers_.empty() && now >= strangers_.front().came + kPatience) {
    refuse_oldest(StrangerBook::kTooLate);
  }
  return proven;
}

TimePoint StoreStrangers::wake_at(TimePoint now) const {
  if (strangers_.empty()) return TimePoint::max();
  const TimePoint came = strangers_.front().came;
  return has_room(now) ? came + kPatience : came + kGrace;
}

StoreStrangers::Outcome StoreStrangers::hear(Stranger& stranger) {
  std::byte buffer[kHelloBytes];
  while (stranger.incoming.size() < kHelloBytes) {
    // Room for its hello and no more: what follows belongs to the store, once it is proven.
    const std::size_t room = kHelloBytes - stranger.incoming.size();
    const ssize_t got = ::recv(stranger.fd.get(), buffer, room, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return Outcome::kPending;
    if (got <= 0) {
      book_.refused(stranger.address, StrangerBook::kHungUp);
      return Outcome::kRefused;
    }
    stranger.incoming.insert(stranger.incoming.end(), buffer, buffer + got);
  }
  return judge(stranger);
}

StoreStrangers::Outcome StoreStrangers::judge(Stranger& stranger) {
  const Result<Hello> hello = stranger.handshake.read_hello(stranger.incoming);
  if (hello.ok() && hello->purpose == Purpose::kStore) return Outcome::kProven;
  book_.refused(stranger.address, hello.ok() ? "its hello is not for the store"
                                             : std::string_view(hello.status().text()));
  return Outcome::kRefused;
}

}  // namespace paceline
