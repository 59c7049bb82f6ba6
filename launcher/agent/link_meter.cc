#include "launcher/agent/link_meter.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace paceline::launcher {
namespace {

constexpr int kTimesPause = 100;  // a look of 1 ms is followed by a pause of 100 ms
constexpr std::uint64_t kLooksWithout = 10;
// Timeouts of one segment, without an acknowledgement between them: less may be chance.
constexpr unsigned kResent = 2;
constexpr timeval kPatience{.tv_sec = 0, .tv_usec = 200000};
// ESTABLISHED, FIN_WAIT1, CLOSE_WAIT and LAST_ACK: data may be on its way. <netinet/tcp.h> has
// their names, and cannot be included beside <linux/tcp.h>.
constexpr std::uint32_t kStates = 1U << 1 | 1U << 4 | 1U << 8 | 1U << 9;

// As the kernel's answer has it, in network byte order.
IpAddress address_of(int family, const std::uint32_t (&words)[4]) {
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  const bool is_v4 = family == AF_INET;
  v4.sin_family = AF_INET;
  v6.sin6_family = AF_INET6;
  std::memcpy(&v4.sin_addr, words, sizeof v4.sin_addr);
  std::memcpy(&v6.sin6_addr, words, sizeof v6.sin6_addr);
  const auto* const address =
      is_v4 ? reinterpret_cast<const sockaddr*>(&v4) : reinterpret_cast<const sockaddr*>(&v6);
  return IpAddress::of(address).value_or(IpAddress());
}

// The inodes of the sockets that a process has open. None: it has ended, or is of another user.
void add_sockets(pid_t process, std::set<std::uint32_t>& inodes) {
  std::error_code error;
  const std::string folder = "/proc/" + std::to_string(process) + "/fd";
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    std::array<char, 64> target{};
    const ssize_t length = ::readlink(at->path().c_str(), target.data(), target.size() - 1);
    constexpr std::string_view kSocket = "socket:[";
    const std::string_view name(target.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
    if (!name.starts_with(kSocket)) continue;
    std::uint32_t inode = 0;
    const char* const begin = name.data() + kSocket.size();
    if (std::from_chars(begin, name.data() + name.size(), inode).ec == std::errc())
      inodes.insert(inode);
  }
}

// A rank is a process group: behind a wrapper its program is another process of it.
std::set<std::uint32_t> sockets_of_groups(const std::vector<pid_t>& groups) {
  std::set<std::uint32_t> inodes;
  std::error_code error;
  for (std::filesystem::directory_iterator at("/proc", error), end; !error && at != end;
       at.increment(error)) {
    pid_t process = 0;
    const std::string name = at->path().filename();
    if (std::from_chars(name.data(), name.data() + name.size(), process).ec != std::errc())
      continue;
    if (std::ranges::find(groups, ::getpgid(process)) != groups.end()) add_sockets(process, inodes);
  }
  return inodes;
}

}  // namespace

bool LinkMeter::open() {
  if (netlink_ || is_off_) return !is_off_;
  netlink_ = UniqueFd(::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  is_off_ = !netlink_ || ::setsockopt(netlink_.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience,
                                      sizeof kPatience) != 0;
  return !is_off_;
}

bool LinkMeter::look(const std::vector<pid_t>& groups, const Clock& clock) {
  const TimePoint begin = clock.now();
  if (begin < next_ || !open()) return false;
  // A process that was not there before may have any socket.
  if (groups != groups_)
    std::erase_if(known_, [](const auto& one) { return !one.second.is_of_rank; });
  groups_ = groups;
  Sockets found;
  const bool is_whole = read(AF_INET, found) && read(AF_INET6, found);
  if (is_whole) add(found, begin);
  const TimePoint end = clock.now();
  next_ = end + kTimesPause * (end - begin);
  return is_whole;
}

// Sockets with the same ends have data on its way at the same time, so the busiest of them counts.
void LinkMeter::add(const Sockets& found, TimePoint now) {
  ++look_;
  const bool knows_all =
      std::ranges::all_of(found, [this](const auto& one) { return known_.contains(one.first); });
  const std::set<std::uint32_t> of_ranks =
      knows_all ? std::set<std::uint32_t>() : sockets_of_groups(groups_);
  std::map<Ends, Duration> busy;
  unanswered_.clear();
  for (const auto& [cookie, seen] : found) {
    const auto [at, is_new] = known_.try_emplace(cookie);
    Known& known = at->second;
    if (is_new) known.is_of_rank = of_ranks.contains(seen.inode);
    known.look = look_;
    if (!known.is_of_rank) continue;
    if (!links_.contains(seen.ends) && links_.size() >= kMostLinks) make_room();
    Counts& link = links_[seen.ends];
    link.bytes += seen.counts.bytes - std::min(known.counts.bytes, seen.counts.bytes);
    link.resent_bytes +=
        seen.counts.resent_bytes - std::min(known.counts.resent_bytes, seen.counts.resent_bytes);
    Duration& most = busy[seen.ends];
    most = std::max(most, seen.counts.busy - std::min(known.counts.busy, seen.counts.busy));
    if (!seen.counts.is_resent) known.unanswered.reset();
    if (seen.counts.is_resent && !known.unanswered) known.unanswered = now;
    if (known.unanswered) {
      Duration& longest = unanswered_[seen.ends];
      longest = std::max(longest, now - *known.unanswered);
    }
    known.counts = seen.counts;
  }
  for (const auto& [ends, more] : busy)
    if (const auto link = links_.find(ends); link != links_.end()) link->second.busy += more;
  // The kernel may leave a socket out of an answer.
  std::erase_if(known_,
                [this](const auto& one) { return one.second.look + kLooksWithout < look_; });
}

void LinkMeter::make_room() {
  links_.erase(
      std::ranges::min_element(links_, {}, [](const auto& link) { return link.second.bytes; }));
}

std::vector<LinkReading> LinkMeter::links() const {
  std::vector<LinkReading> readings;
  for (const auto& [ends, counts] : links_) {
    const auto unanswered = unanswered_.find(ends);
    readings.push_back(
        {.from = ends.first.to_string(),
         .to = ends.second.to_string(),
         .bytes = counts.bytes,
         .resent_bytes = counts.resent_bytes,
         .busy = counts.busy,
         .unanswered = unanswered == unanswered_.end() ? Duration() : unanswered->second});
  }
  return readings;
}

// ---- The kernel's answer ---------------------------------------------------------------------

// False: the answer is not whole.
bool LinkMeter::read(int family, Sockets& found) {
  struct {
    nlmsghdr header;
    inet_diag_req_v2 wanted;
  } request{};
  request.header = {.nlmsg_len = sizeof request,
                    .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                    .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP};
  request.wanted.sdiag_family = static_cast<std::uint8_t>(family);
  request.wanted.sdiag_protocol = IPPROTO_TCP;
  request.wanted.idiag_ext = 1U << (INET_DIAG_INFO - 1);
  request.wanted.idiag_states = kStates;
  if (!netlink_ || ::send(netlink_.get(), &request, sizeof request, 0) < 0) return false;
  alignas(nlmsghdr) std::array<char, 32768> buffer;
  while (found.size() < kMostSockets) {
    const ssize_t got = ::recv(netlink_.get(), buffer.data(), buffer.size(), 0);
    if (got <= 0) break;
    auto left = static_cast<std::uint32_t>(got);
    for (auto* message = reinterpret_cast<nlmsghdr*>(buffer.data()); NLMSG_OK(message, left);
         message = NLMSG_NEXT(message, left)) {
      if (message->nlmsg_type == NLMSG_DONE) return true;
      if (message->nlmsg_type == NLMSG_ERROR) {
        is_off_ = true;
        return false;
      }
      take(NLMSG_DATA(message), message->nlmsg_len - NLMSG_HDRLEN, found);
    }
  }
  netlink_.reset();  // the rest of the answer must not be taken for that to the next request
  return false;
}

LinkMeter::Counts LinkMeter::counts_of(const void* info, std::size_t bytes) {
  tcp_info counts{};  // older kernels send less of it
  std::memcpy(&counts, info, std::min(sizeof counts, bytes));
  const auto busy_us =
      counts.tcpi_busy_time - std::min(counts.tcpi_busy_time, counts.tcpi_rwnd_limited);
  return {.bytes = counts.tcpi_bytes_acked,
          .resent_bytes = counts.tcpi_bytes_retrans,
          .busy = std::chrono::microseconds(busy_us),
          .is_resent = counts.tcpi_unacked > 0 && counts.tcpi_retransmits >= kResent};
}

void LinkMeter::take(const void* message, std::size_t bytes, Sockets& found) const {
  if (bytes < sizeof(inet_diag_msg)) return;
  const auto* const socket = static_cast<const inet_diag_msg*>(message);
  Seen made{.inode = socket->idiag_inode,
            .ends = {address_of(socket->idiag_family, socket->id.idiag_src),
                     address_of(socket->idiag_family, socket->id.idiag_dst)},
            .counts = {}};
  const auto& [from, to] = made.ends;
  if (!counts_loopback_ && (to.is_loopback() || from == to)) return;
  const char* at = reinterpret_cast<const char*>(socket + 1);
  for (std::size_t left = bytes - sizeof(inet_diag_msg); left >= sizeof(rtattr);) {
    const auto* const part = reinterpret_cast<const rtattr*>(at);
    if (part->rta_len < sizeof(rtattr) || part->rta_len > left) return;
    if (part->rta_type == INET_DIAG_INFO) {
      made.counts = counts_of(RTA_DATA(part), RTA_PAYLOAD(part));
      const std::uint64_t cookie =
          std::uint64_t{socket->id.idiag_cookie[1]} << 32 | socket->id.idiag_cookie[0];
      found.emplace(cookie, std::move(made));
      return;
    }
    const std::size_t step = std::min<std::size_t>(left, RTA_ALIGN(part->rta_len));
    at += step;
    left -= step;
  }
}

}  // namespace paceline::launcher
