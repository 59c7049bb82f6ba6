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

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace paceline::launcher {
namespace {

constexpr int kTimesPause = 100;  // a look of 1 ms is followed by a pause of 100 ms
constexpr timeval kPatience{.tv_sec = 0, .tv_usec = 200000};
// ESTABLISHED, FIN_WAIT1, CLOSE_WAIT and LAST_ACK: data may be on its way. <netinet/tcp.h> has
// their names, and cannot be included beside <linux/tcp.h>.
constexpr std::uint32_t kStates = 1U << 1 | 1U << 4 | 1U << 8 | 1U << 9;

std::string text_of(int family, const void* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (::inet_ntop(family, address, text.data(), text.size()) == nullptr) return {};
  constexpr std::string_view kMapped = "::ffff:";
  const std::string_view whole = text.data();
  const bool is_mapped = whole.starts_with(kMapped) && whole.find('.') != std::string_view::npos;
  return std::string(is_mapped ? whole.substr(kMapped.size()) : whole);
}

bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address == "::1";
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

}  // namespace

bool LinkMeter::open() {
  if (netlink_ || is_off_) return !is_off_;
  netlink_ = UniqueFd(::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  is_off_ = !netlink_ || ::setsockopt(netlink_.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience,
                                      sizeof kPatience) != 0;
  return !is_off_;
}

void LinkMeter::look(const std::vector<pid_t>& ranks, const Clock& clock) {
  const TimePoint begin = clock.now();
  if (begin < next_ || !open()) return;
  Sockets found;
  read(AF_INET, found);
  read(AF_INET6, found);
  // Which of them are of ranks is looked up once. A number may be that of another socket now.
  const auto is_known = [this](std::uint32_t inode, const Socket& socket) {
    const auto before = sockets_.find(inode);
    return before != sockets_.end() && before->second.ends == socket.ends;
  };
  const bool knows_all = std::ranges::all_of(found, [&](const auto& one) {
    return is_known(one.first, one.second) || others_.contains(one.first);
  });
  std::set<std::uint32_t> of_ranks;
  if (!knows_all)
    for (const pid_t rank : ranks) add_sockets(rank, of_ranks);
  std::set<std::uint32_t> others;
  Sockets open;
  for (auto& [inode, socket] : found) {
    const bool is_of_rank = is_known(inode, socket) || of_ranks.contains(inode);
    if (is_of_rank)
      open.emplace(inode, std::move(socket));
    else
      others.insert(inode);
  }
  for (const auto& [inode, socket] : sockets_) {
    const auto still = open.find(inode);
    if (still != open.end() && still->second.ends == socket.ends) continue;
    if (ended_.size() >= kMostLinks && !ended_.contains(socket.ends)) continue;
    Counts& counts = ended_[socket.ends];
    counts.bytes += socket.counts.bytes;
    counts.resent_bytes += socket.counts.resent_bytes;
    counts.busy += socket.counts.busy;
  }
  sockets_ = std::move(open);
  others_ = std::move(others);
  const TimePoint end = clock.now();
  next_ = end + kTimesPause * (end - begin);
}

std::vector<LinkReading> LinkMeter::links() const {
  std::map<std::pair<std::string, std::string>, Counts> links = ended_;
  for (const auto& [inode, socket] : sockets_) {
    if (links.size() >= kMostLinks && !links.contains(socket.ends)) continue;
    Counts& counts = links[socket.ends];
    counts.bytes += socket.counts.bytes;
    counts.resent_bytes += socket.counts.resent_bytes;
    counts.busy = std::max(counts.busy, socket.counts.busy);
  }
  std::vector<LinkReading> readings;
  for (const auto& [ends, counts] : links)
    readings.push_back({.from = ends.first,
                        .to = ends.second,
                        .bytes = counts.bytes,
                        .resent_bytes = counts.resent_bytes,
                        .busy = counts.busy});
  return readings;
}

// ---- The kernel's answer ---------------------------------------------------------------------

void LinkMeter::read(int family, Sockets& found) {
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
  if (::send(netlink_.get(), &request, sizeof request, 0) < 0) return;
  alignas(nlmsghdr) std::array<char, 32768> buffer;
  for (std::size_t answers = 0; answers < kMostSockets; ++answers) {
    const ssize_t got = ::recv(netlink_.get(), buffer.data(), buffer.size(), 0);
    if (got <= 0) {  // what is left of the answer must not be taken for that to the next request
      netlink_.reset();
      return;
    }
    auto left = static_cast<std::uint32_t>(got);
    for (auto* message = reinterpret_cast<nlmsghdr*>(buffer.data()); NLMSG_OK(message, left);
         message = NLMSG_NEXT(message, left)) {
      if (message->nlmsg_type == NLMSG_DONE) return;
      if (message->nlmsg_type == NLMSG_ERROR) {
        is_off_ = true;
        return;
      }
      if (found.size() < kMostSockets)
        take(NLMSG_DATA(message), message->nlmsg_len - NLMSG_HDRLEN, found);
    }
  }
}

LinkMeter::Counts LinkMeter::counts_of(const void* info, std::size_t bytes) {
  tcp_info counts{};  // older kernels send less of it
  std::memcpy(&counts, info, std::min(sizeof counts, bytes));
  const auto busy_us =
      counts.tcpi_busy_time - std::min(counts.tcpi_busy_time, counts.tcpi_rwnd_limited);
  return {.bytes = counts.tcpi_bytes_acked,
          .resent_bytes = counts.tcpi_bytes_retrans,
          .busy = std::chrono::microseconds(busy_us)};
}

// False: there is no tcp_info in it.
bool LinkMeter::take(const void* message, std::size_t bytes, Sockets& found) const {
  if (bytes < sizeof(inet_diag_msg)) return false;
  const auto* const socket = static_cast<const inet_diag_msg*>(message);
  Socket made{.ends = {text_of(socket->idiag_family, socket->id.idiag_src),
                       text_of(socket->idiag_family, socket->id.idiag_dst)},
              .counts = {}};
  if (!counts_loopback_ && (is_loopback(made.ends.second) || made.ends.first == made.ends.second))
    return false;
  const char* at = reinterpret_cast<const char*>(socket + 1);
  for (std::size_t left = bytes - sizeof(inet_diag_msg); left >= sizeof(rtattr);) {
    const auto* const part = reinterpret_cast<const rtattr*>(at);
    if (part->rta_len < sizeof(rtattr) || part->rta_len > left) return false;
    if (part->rta_type == INET_DIAG_INFO) {
      made.counts = counts_of(RTA_DATA(part), RTA_PAYLOAD(part));
      found.emplace(socket->idiag_inode, std::move(made));
      return true;
    }
    const std::size_t step = std::min<std::size_t>(left, RTA_ALIGN(part->rta_len));
    at += step;
    left -= step;
  }
  return false;
}

}  // namespace paceline::launcher
