// What the kernel's texts about a process say. Pure; texts may be cut or malformed, since processes
// end while they are read.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "launcher/system/process_stat.h"

namespace paceline::launcher {

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

/// The words of a thread that waits for a child, as shells do.
inline constexpr std::string_view kWaitsForChild = "the end of a child process";
/// What a thread in this call waits for.
struct CallWait {
  std::string words;              ///< "read from"; empty: not known
  std::optional<int> descriptor;  /// that follows the words: "read from descriptor 5"
};
CallWait wait_of(const SystemCall& call);

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
