// What the kernel's texts about a process say. Pure; texts may be cut or malformed, since processes
// end while they are read.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace paceline::launcher {

/// /proc/PID/stat, or that of a thread. The name may have any character.
struct ProcessStat {
  std::string name;
  char state = 0;  ///< of proc(5): R, S, D, …
  pid_t parent = 0;
  pid_t group = 0;
  std::uint64_t cpu_ticks = 0;   ///< in user and kernel mode
  std::uint64_t start_time = 0;  ///< as ProcessIdentity
};
std::optional<ProcessStat> parse_stat(std::string_view text);

/// "running", "sleeping", "waiting for a disk", "stopped", "traced" or "ended".
std::string_view state_words(char state);

/// Whether the signal is in a mask of /proc/PID/status, as "SigCgt" or "SigBlk". False: the text
/// has no such mask.
bool has_signal(std::string_view status, std::string_view mask, int signal);

/// A number of a text with lines "name:\tnumber": /proc/PID/status, /proc/PID/fdinfo/N.
std::optional<std::uint64_t> number_of_line(std::string_view text, std::string_view name);

/// /proc/PID/syscall. None: the thread runs, or is not in a system call.
struct SystemCall {
  std::int64_t number = 0;
  std::array<std::uint64_t, 6> arguments{};
};
std::optional<SystemCall> parse_system_call(std::string_view text);

/// What a thread in this call waits for.
struct Wait {
  std::string words;              ///< "read from"; empty: not known
  std::optional<int> descriptor;  /// that follows the words: "read from descriptor 5"
};
Wait wait_of(const SystemCall& call);

/// What a descriptor is: "a pipe", "the terminal /dev/pts/3", "the file /tmp/x". `link` is that of
/// /proc/PID/fd. Sockets are "a socket", since the link does not say more.
std::string descriptor_words(std::string_view link);
/// The inode of a socket by its link, "socket:[123]". None: it is no socket.
std::optional<std::uint64_t> socket_inode(std::string_view link);
/// A socket by the texts of /proc/PID/net/tcp, tcp6 and unix: "a TCP connection to 10.0.0.2:4711".
/// Empty: the text does not have it.
std::string tcp_words(std::string_view text, std::uint64_t inode);
std::string unix_words(std::string_view text, std::uint64_t inode);

}  // namespace paceline::launcher
