#include "comm/base/input_file.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "comm/base/clock.h"
#include "comm/base/system_error.h"
#include "comm/base/try.h"
#include "comm/base/unique_fd.h"

namespace paceline {
namespace {

// The longest wait for more data, and for all data.
constexpr Duration kPatience = std::chrono::seconds(10);
constexpr Duration kWholePatience = std::chrono::seconds(60);

Status unusable(const std::string& why) { return {Code::kInvalidArgument, Scope::kOperation, why}; }

Status check_kind(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return unusable(error_text(errno));
  if (S_ISREG(status.st_mode) || S_ISFIFO(status.st_mode)) return {};
  return unusable(S_ISDIR(status.st_mode) ? error_text(EISDIR) : "it is a device");
}

std::string size_text(std::size_t bytes) {
  const std::size_t mib = bytes >> 20;
  return mib > 0 ? std::to_string(mib) + " MiB" : std::to_string(bytes) + " bytes";
}

// A pipe that nobody has opened for writing yet reads as ended, so its first data are awaited.
Status await_data(int fd, const Clock& clock, Deadline whole) {
  const Deadline silence = Deadline::after(clock, kPatience);
  for (;;) {
    const Duration left = std::min(silence.left(clock.now()), whole.left(clock.now()));
    if (left == Duration::zero())
      return unusable(whole.passed(clock.now()) ? "not all data arrived within 60 s"
                                                : "no data arrived within 10 s");
    pollfd readable{.fd = fd, .events = POLLIN, .revents = 0};
    const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    if (::poll(&readable, 1, static_cast<int>(milliseconds)) > 0) return {};
  }
}

}  // namespace

Result<std::string> read_input(const std::string& path, std::size_t most_bytes) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (!file) return unusable(error_text(errno));
  PACELINE_TRY(check_kind(file.get()));
  const SystemClock clock;
  const Deadline whole = Deadline::after(clock, kWholePatience);
  PACELINE_TRY(await_data(file.get(), clock, whole));
  std::string text;
  std::array<char, 16384> bytes;
  for (;;) {
    const ssize_t got = ::read(file.get(), bytes.data(), bytes.size());
    if (got == 0) return text;
    if (got < 0 && errno == EAGAIN) {
      PACELINE_TRY(await_data(file.get(), clock, whole));
      continue;
    }
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return unusable(error_text(errno));
    text.append(bytes.data(), static_cast<std::size_t>(got));
    if (text.size() > most_bytes) return unusable("it is longer than " + size_text(most_bytes));
  }
}

}  // namespace paceline
