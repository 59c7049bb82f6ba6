#include "comm/arena_exchange.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/base/random.h"
#include "comm/base/system_error.h"
#include "comm/base/text.h"
#include "comm/base/try.h"
#include "comm/socket.h"

namespace paceline {
namespace {

// What a rank and rank 0 say to each other, each of one message:
//   rank      its number, and its arena if it has one
//   rank 0    kYes, and all arenas by rank; or kNo
//   rank      kYes: it has mapped them; or kNo
//   rank 0    kYes: all have; or kNo
constexpr std::uint32_t kNo = 0, kYes = 1;
constexpr int kMostFiles = 253;  // SCM_MAX_FD of the kernel

struct Word {
  std::uint32_t value = kNo;
  std::vector<UniqueFd> files;
};

Status broken(const std::string& what) { return Status(Code::kUnavailable, Scope::kProcess, what); }
Status broken_by_system(const std::string& what) { return broken(what + ": " + error_text(errno)); }

// Waits until one of them can be read, or has ended.
Status await_any(std::span<pollfd> ends, const Clock& clock, Deadline deadline) {
  constexpr auto kLongest = std::chrono::milliseconds(1000);
  while (true) {
    const Duration left = deadline.left(clock.now());
    if (left == Duration::zero()) return broken("the other ranks sent nothing before the timeout");
    const auto wait =
        std::chrono::ceil<std::chrono::milliseconds>(std::min<Duration>(left, kLongest));
    const int ready = ::poll(ends.data(), ends.size(), static_cast<int>(wait.count()));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return broken_by_system("poll");
  }
}

Status await(int end, const Clock& clock, Deadline deadline) {
  pollfd one{.fd = end, .events = POLLIN, .revents = 0};
  return await_any({&one, 1}, clock, deadline);
}

// A word is far shorter than a socket's buffer, and the only one on its way.
Status say(int end, std::uint32_t value, std::span<const int> files = {}) {
  iovec word{.iov_base = &value, .iov_len = sizeof value};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostFiles * sizeof(int))> space{};
  msghdr message{};
  message.msg_iov = &word;
  message.msg_iovlen = 1;
  if (!files.empty()) {
    message.msg_control = space.data();
    message.msg_controllen = CMSG_SPACE(files.size_bytes());
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(files.size_bytes());
    std::memcpy(CMSG_DATA(header), files.data(), files.size_bytes());
  }
  const ssize_t sent = ::sendmsg(end, &message, MSG_NOSIGNAL);
  return sent == sizeof value ? Status() : broken_by_system("cannot send to another rank");
}

// Something has come.
Result<Word> take_word(int end) {
  Word word;
  iovec place{.iov_base = &word.value, .iov_len = sizeof word.value};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostFiles * sizeof(int))> space{};
  msghdr message{};
  message.msg_iov = &place;
  message.msg_iovlen = 1;
  message.msg_control = space.data();
  message.msg_controllen = space.size();
  const ssize_t came = ::recvmsg(end, &message, MSG_CMSG_CLOEXEC);
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    std::vector<int> files((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    std::memcpy(files.data(), CMSG_DATA(header), files.size() * sizeof(int));
    for (const int file : files) word.files.emplace_back(file);
  }
  if (came == sizeof word.value && (message.msg_flags & MSG_CTRUNC) == 0) return word;
  return broken(came == 0 ? "another rank has closed its connection"
                          : "a message of another rank is incomplete");
}

Result<Word> hear(int end, const Clock& clock, Deadline deadline) {
  PACELINE_TRY(await(end, clock, deadline));
  return take_word(end);
}

Result<std::vector<std::shared_ptr<const ArenaView>>> map_all(std::vector<UniqueFd> files) {
  std::vector<std::shared_ptr<const ArenaView>> views;
  for (UniqueFd& file : files) {
    PACELINE_TRY_ASSIGN(auto view, ArenaView::open(std::move(file)));
    views.push_back(std::move(view));
  }
  return views;
}

HostArenas none(const Status& why) { return {.views = {}, .why_not = why.text()}; }

// ---- Rank 0 ----

class Hub {
 public:
  Hub(const Group& group, const Clock& clock, Deadline deadline)
      : clock_(clock), deadline_(deadline), ends_(static_cast<std::size_t>(group.size())) {}

  // Where the others find it.
  Status open(const std::string& path) {
    PACELINE_TRY_ASSIGN(const SocketAddress address, SocketAddress::parse("unix:" + path));
    PACELINE_TRY_ASSIGN(listener_, listen_on(address));
    path_ = path;
    return {};
  }
  ~Hub() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  HostArenas run(const Result<int>& own) {
    Result<HostArenas> arenas = gather(own);
    const bool all = arenas.ok();
    for (const UniqueFd& end : ends_)
      if (end) (void)say(end.get(), all ? kYes : kNo);
    return all ? *std::move(arenas) : none(arenas.status());
  }

 private:
  Result<HostArenas> gather(const Result<int>& own) {
    PACELINE_TRY(own.status());
    std::vector<UniqueFd> files(ends_.size());
    files[0] = UniqueFd(::fcntl(*own, F_DUPFD_CLOEXEC, 0));
    if (!files[0])
      return broken_by_system("cannot duplicate the descriptor of this rank's buffers");
    for (std::size_t missing = ends_.size() - 1; missing > 0; --missing) PACELINE_TRY(meet(files));
    std::vector<int> all;
    for (const UniqueFd& file : files) all.push_back(file.get());
    for (std::size_t rank = 1; rank < ends_.size(); ++rank)
      PACELINE_TRY(say(ends_[rank].get(), kYes, all));
    PACELINE_TRY_ASSIGN(auto views, map_all(std::move(files)));
    for (std::size_t rank = 1; rank < ends_.size(); ++rank) {
      PACELINE_TRY_ASSIGN(const Word word, hear(ends_[rank].get(), clock_, deadline_));
      if (word.value != kYes)
        return broken("rank " + std::to_string(rank) +
                      " could not map the buffers of the other ranks");
    }
    return HostArenas{.views = std::move(views), .why_not = {}};
  }

  // The next rank that has come, and its arena.
  Status meet(std::vector<UniqueFd>& files) {
    PACELINE_TRY(await(listener_.get(), clock_, deadline_));
    PACELINE_TRY_ASSIGN(UniqueFd end, accept_from(listener_.get()));
    if (!end) return broken("a rank closed its connection before it was accepted");
    PACELINE_TRY_ASSIGN(const unsigned user, peer_user(end.get()));
    if (user != ::geteuid())
      return broken("a process of user " + std::to_string(user) +
                    " connected to the socket of this group");
    PACELINE_TRY_ASSIGN(Word word, hear(end.get(), clock_, deadline_));
    if (word.value == 0 || word.value >= ends_.size() || ends_[word.value])
      return broken("a process that is not an expected rank connected to the socket of this group");
    ends_[word.value] = std::move(end);
    if (word.files.size() != 1)
      return broken("rank " + std::to_string(word.value) + " cannot share its buffers");
    files[word.value] = std::move(word.files.front());
    return {};
  }

  const Clock& clock_;
  const Deadline deadline_;
  std::string path_;
  UniqueFd listener_;
  std::vector<UniqueFd> ends_;  // by rank
};

// ---- The others ----

Result<HostArenas> join_hub(const std::string& path, int rank, const Result<int>& own,
                            const Clock& clock, Deadline deadline) {
  PACELINE_TRY_ASSIGN(const SocketAddress address, SocketAddress::parse("unix:" + path));
  PACELINE_TRY_ASSIGN(const UniqueFd hub, start_connect(address));
  PACELINE_TRY(say(hub.get(), static_cast<std::uint32_t>(rank),
                   own.ok() ? std::span<const int>(&*own, 1) : std::span<const int>()));
  PACELINE_TRY(own.status());
  PACELINE_TRY_ASSIGN(Word all, hear(hub.get(), clock, deadline));
  if (all.value != kYes) return broken("another rank cannot share its buffers");
  auto views = map_all(std::move(all.files));
  PACELINE_TRY(say(hub.get(), views.ok() ? kYes : kNo));
  PACELINE_TRY(views.status());
  PACELINE_TRY_ASSIGN(const Word verdict, hear(hub.get(), clock, deadline));
  if (verdict.value != kYes) return broken("another rank could not map the buffers of all ranks");
  return HostArenas{.views = *std::move(views), .why_not = {}};
}

}  // namespace

Result<HostArenas> exchange_arenas(StoreClient& store, const Group& group, MemoryDomain& domain,
                                   const ArenaExchangeRequest& request, const Clock& clock,
                                   Deadline deadline) {
  const std::string key = "arenas/" + group.name + "/" + std::to_string(group.epoch);
  const Result<int> own = domain.file();
  if (group.rank == 0) {
    std::array<std::byte, 16> nonce{};
    PACELINE_TRY(fill_system_random(nonce));
    Hub hub(group, clock, deadline);
    const std::string path = request.folder + "/" + request.prefix + to_hexadecimal(nonce);
    const Status opened = hub.open(path);
    PACELINE_TRY(store.set(key, opened.ok() ? path : "", deadline));
    return opened.ok() ? hub.run(own) : none(opened);
  }
  const Awaited of_rank_0{.key = key, .setter = 0};
  PACELINE_TRY_ASSIGN(const auto values, store.await({&of_rank_0, 1}, deadline));
  if (!values[0]) {
    return Status(
        Code::kTimeout, Scope::kGroup,
        "rank 0 has not announced its socket for the exchange of buffers before the timeout",
        {.rank = 0, .host = group.members[0].host});
  }
  if (values[0]->empty()) return none(broken("rank 0 could not open a socket"));
  auto arenas = join_hub(*values[0], group.rank, own, clock, deadline);
  return arenas.ok() ? std::move(arenas) : none(arenas.status());
}

}  // namespace paceline
