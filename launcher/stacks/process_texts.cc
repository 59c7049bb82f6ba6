#include "launcher/stacks/process_texts.h"

#include <cstddef>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <sys/syscall.h>

#include "comm/base/text.h"

namespace paceline::launcher {
namespace {

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = text.find_first_not_of(" \t\n", at);
    if (begin == text.npos) break;
    const std::size_t end = std::min(text.find_first_of(" \t\n", begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    at = end;
  }
  return words;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::optional<std::uint64_t> hexadecimal(std::string_view text) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  return is_whole ? std::optional(value) : std::nullopt;
}

// The text behind "name:".
std::optional<std::string_view> value_of_line(std::string_view text, std::string_view name) {
  for (const std::string_view line : lines_of(text))
    if (line.starts_with(name) && line.substr(name.size()).starts_with(':'))
      return trimmed(line.substr(name.size() + 1), " \t");
  return std::nullopt;
}

enum class Takes : std::uint8_t { kNothing, kDescriptor };
struct KnownCall {
  std::int64_t number;
  std::string_view words;
  Takes takes = Takes::kNothing;
};

constexpr KnownCall kCalls[] = {
    {SYS_read, "read from", Takes::kDescriptor},
    {SYS_readv, "read from", Takes::kDescriptor},
    {SYS_pread64, "read from", Takes::kDescriptor},
    {SYS_recvfrom, "read from", Takes::kDescriptor},
    {SYS_recvmsg, "read from", Takes::kDescriptor},
    {SYS_write, "write to", Takes::kDescriptor},
    {SYS_writev, "write to", Takes::kDescriptor},
    {SYS_pwrite64, "write to", Takes::kDescriptor},
    {SYS_sendto, "write to", Takes::kDescriptor},
    {SYS_sendmsg, "write to", Takes::kDescriptor},
    {SYS_accept, "a connection on", Takes::kDescriptor},
    {SYS_accept4, "a connection on", Takes::kDescriptor},
    {SYS_connect, "a connection of", Takes::kDescriptor},
    {SYS_fsync, "a flush of", Takes::kDescriptor},
    {SYS_fdatasync, "a flush of", Takes::kDescriptor},
    {SYS_ftruncate, "a new length of", Takes::kDescriptor},
    {SYS_fstat, "the attributes of", Takes::kDescriptor},
    {SYS_ioctl, "ioctl on", Takes::kDescriptor},
    {SYS_flock, "a file lock on", Takes::kDescriptor},
    {SYS_epoll_pwait, "an event of", Takes::kDescriptor},
    {SYS_openat, "a file to open"},
    {SYS_close, "a descriptor to close"},
    {SYS_futex, "futex: a lock, or another thread"},
    {SYS_wait4, kWaitsForChild},
    {SYS_waitid, kWaitsForChild},
    {SYS_nanosleep, "a time to pass"},
    {SYS_clock_nanosleep, "a time to pass"},
    {SYS_ppoll, "events of descriptors (poll)"},
    {SYS_pselect6, "events of descriptors (select)"},
    {SYS_rt_sigtimedwait, "a signal"},
    {SYS_rt_sigsuspend, "a signal"},
#ifdef SYS_poll  // architectures with older calls
    {SYS_poll, "events of descriptors (poll)"},
    {SYS_select, "events of descriptors (select)"},
    {SYS_epoll_wait, "an event of", Takes::kDescriptor},
    {SYS_pause, "a signal"},
    {SYS_open, "a file to open"},
#endif
};

// "0100007F:1A0B": 32-bit words in the byte order of the host.
std::string address_words(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == text.npos || colon % 8 != 0 || colon > 32) return "";
  std::array<std::uint32_t, 4> words{};
  for (std::size_t i = 0; i < colon / 8; ++i)
    words[i] = static_cast<std::uint32_t>(hexadecimal(text.substr(8 * i, 8)).value_or(0));
  const std::string port = std::to_string(hexadecimal(text.substr(colon + 1)).value_or(0));
  char buffer[INET6_ADDRSTRLEN] = "";
  if (colon == 8) {
    ::inet_ntop(AF_INET, words.data(), buffer, sizeof buffer);
    return std::string(buffer) + ":" + port;
  }
  ::inet_ntop(AF_INET6, words.data(), buffer, sizeof buffer);
  const std::string_view address = buffer;
  if (address.starts_with("::ffff:") && address.find('.') != address.npos)
    return std::string(address.substr(7)) + ":" + port;
  return "[" + std::string(address) + "]:" + port;
}

}  // namespace

std::string_view state_words(char state) {
  switch (state) {
    case 'R':
      return "running";
    case 'D':
      return "waiting for a disk";
    case 'T':
      return "stopped";
    case 't':
      return "traced";
    case 'Z':
    case 'X':
      return "ended";
    default:
      return "sleeping";
  }
}

bool has_signal(std::string_view status, std::string_view mask, int signal) {
  const auto text = value_of_line(status, mask);
  const auto bits = text ? hexadecimal(*text) : std::nullopt;
  return bits && signal >= 1 && signal <= 64 && ((*bits >> (signal - 1)) & 1) != 0;
}

std::optional<std::uint64_t> number_of_line(std::string_view text, std::string_view name) {
  const auto value = value_of_line(text, name);
  return value ? parse_number<std::uint64_t>(*value) : std::nullopt;
}

std::optional<SystemCall> parse_system_call(std::string_view text) {
  const auto words = words_of(text);
  if (words.size() < 7) return std::nullopt;
  const auto number = parse_number<std::int64_t>(words[0]);
  if (!number || *number < 0) return std::nullopt;
  SystemCall call{.number = *number};
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    const auto argument = hexadecimal(words[i + 1]);
    if (!argument) return std::nullopt;
    call.arguments[i] = *argument;
  }
  return call;
}

CallWait wait_of(const SystemCall& call) {
  for (const KnownCall& known : kCalls) {
    if (known.number != call.number) continue;
    CallWait wait{.words = std::string(known.words), .descriptor = {}};
    if (known.takes == Takes::kDescriptor) wait.descriptor = static_cast<int>(call.arguments[0]);
    return wait;
  }
  return {};
}

std::string descriptor_words(std::string_view link) {
  constexpr std::pair<std::string_view, std::string_view> kKinds[] = {
      {"pipe:", "a pipe"},
      {"socket:", "a socket"},
      {"anon_inode:[eventpoll]", "an epoll"},
      {"anon_inode:[eventfd]", "an eventfd"},
      {"anon_inode:[timerfd]", "a timer"},
      {"anon_inode:inotify", "an inotify"}};
  for (const auto& [begin, words] : kKinds)
    if (link.starts_with(begin)) return std::string(words);
  if (link.starts_with("/dev/pts/") || link.starts_with("/dev/tty"))
    return "the terminal " + printable(link);
  if (link.starts_with("/dev/")) return "the device " + printable(link);
  if (link.starts_with("/memfd:")) return "a file in memory";
  return link.starts_with("/") ? "the file " + printable(link) : "";
}

std::optional<std::uint64_t> socket_inode(std::string_view link) {
  constexpr std::string_view kBegin = "socket:[";
  if (!link.starts_with(kBegin) || !link.ends_with("]")) return std::nullopt;
  return parse_number<std::uint64_t>(link.substr(kBegin.size(), link.size() - kBegin.size() - 1));
}

std::string tcp_words(std::string_view text, std::uint64_t inode) {
  constexpr std::size_t kLocal = 1, kRemote = 2, kState = 3, kInode = 9;
  for (const std::string_view line : lines_of(text)) {
    const auto fields = words_of(line);
    if (fields.size() <= kInode || parse_number<std::uint64_t>(fields[kInode]) != inode) continue;
    if (fields[kState] == "0A")
      return "a TCP socket that listens at " + address_words(fields[kLocal]);
    return "a TCP connection to " + address_words(fields[kRemote]);
  }
  return "";
}

std::string unix_words(std::string_view text, std::uint64_t inode) {
  constexpr std::size_t kInode = 6, kPath = 7;
  for (const std::string_view line : lines_of(text)) {
    const auto fields = words_of(line);
    if (fields.size() <= kInode || parse_number<std::uint64_t>(fields[kInode]) != inode) continue;
    return fields.size() > kPath ? "the Unix socket " + printable(fields[kPath]) : "a Unix socket";
  }
  return "";
}

}  // namespace paceline::launcher
