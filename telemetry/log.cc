#include "telemetry/log.h"

#include <ctime>

#include <signal.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

namespace paceline {
namespace {

spdlog::level::level_enum level_of(LogLevel level) {
  switch (level) {
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kOff:
      break;
  }
  return spdlog::level::off;
}

spdlog::level::level_enum level_of(Severity severity) {
  switch (severity) {
    case Severity::kInfo:
      return spdlog::level::info;
    case Severity::kWarning:
      return spdlog::level::warn;
    case Severity::kError:
      break;
  }
  return spdlog::level::err;
}

// While it lives, a write to a closed pipe raises no SIGPIPE: one that comes waits, as it is this
// thread's own, and is taken away at the end. The process's disposition stays as it is, since it
// is the program's.
class SigpipeGuard {
 public:
  SigpipeGuard() {
    ::sigemptyset(&sigpipe_);
    ::sigaddset(&sigpipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &sigpipe_, &before_);
    was_pending_ = is_pending();
  }
  ~SigpipeGuard() {
    constexpr timespec kAtOnce{};
    if (!was_pending_ && is_pending()) ::sigtimedwait(&sigpipe_, nullptr, &kAtOnce);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  SigpipeGuard(const SigpipeGuard&) = delete;
  SigpipeGuard& operator=(const SigpipeGuard&) = delete;

 private:
  static bool is_pending() {
    sigset_t pending;
    ::sigemptyset(&pending);
    ::sigpending(&pending);
    return ::sigismember(&pending, SIGPIPE) == 1;
  }

  sigset_t sigpipe_;
  sigset_t before_;
  bool was_pending_;
};

class StderrLog final : public Log {
 public:
  explicit StderrLog(const LogOptions& options)
      : logger_("paceline", std::make_shared<spdlog::sinks::stderr_sink_mt>()) {
    logger_.set_level(level_of(options.level));
    logger_.set_pattern("%n: %l: %v");
  }

  void write(Severity severity, std::string_view text) override {
    const spdlog::level::level_enum level = level_of(severity);
    if (!logger_.should_log(level)) return;
    const SigpipeGuard guard;
    logger_.log(level, one_line(text));
  }

 private:
  spdlog::logger logger_;  // a logger of our own: the program's registry stays the program's
};

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// Bytes of the well-formed UTF-8 character (RFC 3629) that `text` begins with, 0 where it begins
// with none or with a control character of one or two bytes.
std::size_t printable_bytes(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const auto second = static_cast<unsigned char>(text.size() > 1 ? text[1] : 0);
  if (first < 0x80) return first >= 0x20 && first != 0x7F ? 1 : 0;
  if (first < 0xC2 || first > 0xF4) return 0;
  const std::size_t size = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (text.size() < size) return 0;
  for (const char byte : text.substr(1, size - 1)) {
    if (!is_continuation(byte)) return 0;
  }
  const bool is_control = first == 0xC2 && second < 0xA0;
  const bool is_overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool is_beyond = (first == 0xED && second > 0x9F) || (first == 0xF4 && second > 0x8F);
  return is_control || is_overlong || is_beyond ? 0 : size;
}

}  // namespace

std::shared_ptr<Log> make_stderr_log(const LogOptions& options) {
  return std::make_shared<StderrLog>(options);
}

std::string one_line(std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string line;
  while (!text.empty()) {
    const std::size_t size = printable_bytes(text);
    const auto byte = static_cast<unsigned char>(text[0]);
    const std::string escaped = {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    const std::string_view next = size > 0 ? text.substr(0, size) : escaped;
    if (line.size() + next.size() > kMaxLogBytes) return line + "…";
    line += next;
    text.remove_prefix(size > 0 ? size : 1);
  }
  return line;
}

}  // namespace paceline
