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

// What a rank and rank 0 say to each other, each of one message. A rank's files are its arena and,
// if that is asked for, what wakes it.
//
//   rank      its number, and its files if it has all
//   rank 0    kYes, and the files of all by rank; or kNo
//   rank      kYes: it has mapped them; or kNo
//   rank 0    kYes: all have; or kNo
constexpr std::uint32_t kNo = 0, kYes = 1;
const ExchangeTopic kTopic{.key = "arenas",
                           .task = "announced its socket for the exchange of buffers"};
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

using Files = std::vector<int>;  // borrowed

// Of each rank as many.
Result<HostArenas> map_all(std::vector<UniqueFd> files, std::size_t of_each) {
  HostArenas arenas;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (i % of_each != 0) {
      arenas.kicks.push_back(std::move(files[i]));
      continue;
    }
    PACELINE_TRY_ASSIGN(auto view, ArenaView::open(std::move(files[i])));
    arenas.views.push_back(std::move(view));
  }
  return arenas;
}

HostArenas none(const Status& why) { return {.views = {}, .why_not = why.text()}; }

// ---- Rank 0 ----

class Hub {
 public:
  Hub(const Group& group, const std::vector<int>& names, const Clock& clock, Deadline deadline)
      : clock_(clock),
        deadline_(deadline),
        names_(names),
        ends_(static_cast<std::size_t>(group.size())) {}

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

  HostArenas run(const Result<Files>& own) {
    Result<HostArenas> arenas = gather(own);
    const bool all = arenas.ok();
    for (const UniqueFd& end : ends_)
      if (end) (void)say(end.get(), all ? kYes : kNo);
    return all ? *std::move(arenas) : none(arenas.status());
  }

 private:
  Result<HostArenas> gather(const Result<Files>& own) {
    PACELINE_TRY(own.status());
    const std::size_t of_each = own->size();
    std::vector<UniqueFd> files(ends_.size() * of_each);
    for (std::size_t i = 0; i < of_each; ++i) {
      files[i] = UniqueFd(::fcntl((*own)[i], F_DUPFD_CLOEXEC, 0));
      if (!files[i]) return broken_by_system("cannot duplicate a descriptor of this rank");
    }
    for (std::size_t missing = ends_.size() - 1; missing > 0; --missing)
      PACELINE_TRY(meet(files, of_each));
    Files all;
    for (const UniqueFd& file : files) all.push_back(file.get());
    for (std::size_t rank = 1; rank < ends_.size(); ++rank)
      PACELINE_TRY(say(ends_[rank].get(), kYes, all));
    PACELINE_TRY_ASSIGN(HostArenas arenas, map_all(std::move(files), of_each));
    for (std::size_t rank = 1; rank < ends_.size(); ++rank) {
      PACELINE_TRY_ASSIGN(const Word word, hear(ends_[rank].get(), clock_, deadline_));
      if (word.value != kYes)
        return broken(name_of(rank) + " could not map the buffers of the other ranks");
    }
    return arenas;
  }

  // The next rank that has come, and its files.
  Status meet(std::vector<UniqueFd>& files, std::size_t of_each) {
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
    if (word.files.size() != of_each)
      return broken(name_of(word.value) + " cannot share its buffers");
    for (std::size_t i = 0; i < of_each; ++i)
      files[word.value * of_each + i] = std::move(word.files[i]);
    return {};
  }

  std::string name_of(std::size_t rank) const {
    return "rank " + std::to_string(names_.empty() ? static_cast<int>(rank) : names_[rank]);
  }

  const Clock& clock_;
  const Deadline deadline_;
  const std::vector<int>& names_;
  std::string path_;
  UniqueFd listener_;
  std::vector<UniqueFd> ends_;  // by rank
};

// ---- The others ----

Result<HostArenas> join_hub(const std::string& path, int rank, const Result<Files>& own,
                            const Clock& clock, Deadline deadline) {
  PACELINE_TRY_ASSIGN(const SocketAddress address, SocketAddress::parse("unix:" + path));
  PACELINE_TRY_ASSIGN(const UniqueFd hub, start_connect(address));
  PACELINE_TRY(say(hub.get(), static_cast<std::uint32_t>(rank),
                   own.ok() ? std::span<const int>(*own) : std::span<const int>()));
  PACELINE_TRY(own.status());
  PACELINE_TRY_ASSIGN(Word all, hear(hub.get(), clock, deadline));
  if (all.value != kYes) return broken("another rank cannot share its buffers");
  auto arenas = map_all(std::move(all.files), own->size());
  PACELINE_TRY(say(hub.get(), arenas.ok() ? kYes : kNo));
  PACELINE_TRY(arenas.status());
  PACELINE_TRY_ASSIGN(const Word verdict, hear(hub.get(), clock, deadline));
  if (verdict.value != kYes) return broken("another rank could not map the buffers of all ranks");
  return arenas;
}

}  // namespace

Result<HostArenas> exchange_arenas(Exchange& exchange, const Group& group, MemoryDomain& domain,
                                   const ArenaExchangeRequest& request, const Clock& clock,
                                   Deadline deadline) {
  const Result<int> arena = domain.file();
  Result<Files> own = arena.ok() ? Result<Files>(Files{*arena}) : arena.status();
  if (own.ok() && request.kick) own->push_back(*request.kick);
  if (group.rank == 0) {
    std::array<std::byte, 16> nonce{};
    Hub hub(group, request.names, clock, deadline);
    Status opened = fill_system_random(nonce);
    const std::string path = request.folder + "/" + request.prefix + to_hexadecimal(nonce);
    if (opened.ok()) opened = hub.open(path);
    PACELINE_TRY(exchange.all(kTopic, opened.ok() ? path : "", deadline).status());
    return opened.ok() ? hub.run(own) : none(opened);
  }
  PACELINE_TRY_ASSIGN(const auto texts, exchange.all(kTopic, "", deadline));
  const std::string& path = texts[0];
  if (path.empty()) return none(broken("rank 0 could not open a socket"));
  auto arenas = join_hub(path, group.rank, own, clock, deadline);
  return arenas.ok() ? std::move(arenas) : none(arenas.status());
}

}  // namespace paceline
