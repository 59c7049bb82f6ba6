#include "launcher/engines/start_failure.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace paceline::launcher {
namespace {

// Errors of connect(2), as "ssh: connect to host a port 22: …" has them, or the server of a jump
// host in "channel 0: open failed: connect failed: …". A host whose sshd does not begin to talk
// within ConnectTimeout is busy or about to boot.
bool is_not_up(std::string_view line) {
  constexpr std::array<std::string_view, 4> kErrors = {
      "Connection refused", "No route to host", "Connection timed out", "Network is unreachable"};
  if (line.find("Connection timed out during banner exchange") != line.npos) return true;
  const bool is_connecting = line.find("connect to host ") != line.npos ||
                             line.find("open failed: connect failed: ") != line.npos;
  return is_connecting && std::ranges::any_of(kErrors, [&](std::string_view error) {
           return line.find(error) != line.npos;
         });
}

// "kex_exchange_identification: Connection closed by remote host", and with a jump host
// "Connection closed by UNKNOWN port 65535".
bool is_dropped(std::string_view line) {
  const bool has_port = line.find(" port ") != line.npos;
  return line.starts_with("kex_exchange_identification: ") ||
         line.starts_with("ssh_exchange_identification: ") ||
         (has_port && line.starts_with("Connection closed by ")) ||
         (has_port && line.starts_with("Connection reset by "));
}

// Each mpirun removes $TMPDIR/ompi.<host>.<uid> when it begins, if that is empty. Another one may
// have made it just then, to make a folder of its own in it. So may the daemons of two mpirun.
bool is_without_session(std::string_view line) {
  return line.find("ORTE_ERROR_LOG: ") != line.npos && line.find("session_dir.c") != line.npos;
}

// That does not pass.
bool lacks_a_place(std::string_view line) {
  constexpr std::array<std::string_view, 3> kErrors = {"Permission denied", "No space left",
                                                       "Read-only file system"};
  return std::ranges::any_of(kErrors,
                             [&](std::string_view error) { return line.find(error) != line.npos; });
}

}  // namespace

StartFailure start_failure(const std::deque<std::string>& lines) {
  if (std::ranges::any_of(lines, is_not_up)) return StartFailure::kNotUp;
  if (std::ranges::any_of(lines, is_dropped)) return StartFailure::kDropped;
  const bool is_clash =
      std::ranges::any_of(lines, is_without_session) && std::ranges::none_of(lines, lacks_a_place);
  return is_clash ? StartFailure::kClash : StartFailure::kOther;
}

}  // namespace paceline::launcher
