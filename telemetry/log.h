// What a job says to the people who run it: warnings and errors, a line each.
//
//   const auto log = make_stderr_log({.level = environment.log_level});
//   log->write(Severity::kWarning, "tcp: refused 10.0.0.7: it does not hold this job's key");
//
// writes "paceline: warning: tcp: refused …" to standard error. Texts may hold what a peer sent:
// they become one harmless line of bounded length. Whoever writes sees to it that a line is worth
// reading; what repeats is counted, not repeated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "comm/base/environment.h"

namespace paceline {

enum class Severity : std::uint8_t {
  kInfo,     ///< good to know
  kWarning,  ///< the job goes on, but somebody should look
  kError,    ///< something of the job has failed
};

/// Any thread may write. Has no effect on the job but the time that the line takes.
class Log {
 public:
  virtual ~Log() = default;
  virtual void write(Severity severity, std::string_view text) = 0;
};

struct LogOptions {
  LogLevel level = LogLevel::kWarning;  ///< what is less severe is left out
};

/// Lines on standard error, each written in one piece. A write waits as long as standard error
/// makes it wait. Where nobody reads standard error any more the line is lost; no SIGPIPE comes of
/// it, whatever the process does with that signal.
std::shared_ptr<Log> make_stderr_log(const LogOptions& options);

/// Longest text of a line; the rest is cut, and "…" says so.
inline constexpr std::size_t kMaxLogBytes = 2000;

/// `text` as one line that no terminal takes for more: control characters, and bytes that are not
/// UTF-8, become "\x1b"; no longer than kMaxLogBytes and the "…".
std::string one_line(std::string_view text);

}  // namespace paceline
