#include "launcher/head/console.h"

#include <algorithm>
#include <cerrno>

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

namespace paceline::launcher {
namespace {

bool same_file(int a, int b) {
  struct stat first {};
  struct stat second {};
  if (::fstat(a, &first) != 0 || ::fstat(b, &second) != 0) return false;
  return first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

}  // namespace

Console::Sink::Sink(int descriptor)
    : fd(descriptor), terminal(::isatty(descriptor) == 1), format(terminal) {}

Console::Console(EventLoop& loop, int output_fd, int error_fd, int input_fd)
    : loop_(loop),
      output_(output_fd),
      error_(error_fd),
      input_(input_fd),
      shared_(same_file(output_fd, error_fd)) {}

Console::~Console() {
  loop_.forget_writable(output_.fd);
  loop_.forget_writable(error_.fd);
  loop_.forget_writable(input_.fd);
}

Console::Sink& Console::sink(messages::Stream stream) {
  return stream == messages::STANDARD_OUTPUT || shared_ ? output_ : error_;
}

void Console::print(messages::Stream stream, std::string_view tag, std::string_view text,
                    messages::Ending ending) {
  Sink& to = sink(stream);
  queue(to, to.format.format(tag, text, ending));
}

void Console::say(std::string_view text) {
  print(messages::STANDARD_ERROR, "paceline: ", std::string(text) + '\n', messages::LINES);
}

void Console::echo(std::string_view text) {
  Sink& to = output_.terminal ? output_ : error_.terminal ? error_ : input_;
  queue(to, to.format.echo(text));
}

void Console::finish() {
  queue(output_, output_.format.finish());
  queue(error_, error_.format.finish());
}

void Console::queue(Sink& sink, const std::string& bytes) {
  if (!sink.usable || bytes.empty()) return;
  if (sink.queue.empty()) {
    sink.waits_since = loop_.clock().now();
    loop_.when_writable(sink.fd, [this, &sink] { write_some(sink); });
  }
  sink.queue += bytes;
}

// A descriptor that is ready takes PIPE_BUF bytes without blocking.
void Console::write_some(Sink& sink) {
  const std::size_t size = std::min<std::size_t>(sink.queue.size() - sink.written, PIPE_BUF);
  const ssize_t written = ::write(sink.fd, sink.queue.data() + sink.written, size);
  if (written < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (written < 0) return give_up(sink, errno);
  sink.written += static_cast<std::size_t>(written);
  sink.waits_since = loop_.clock().now();
  if (sink.written < sink.queue.size()) return;
  sink.queue.clear();
  sink.written = 0;
  loop_.forget_writable(sink.fd);
  if (backlog_bytes() == 0 && drained_) drained_();
}

Duration Console::blocked_for() const {
  Duration longest{};
  for (const Sink* const sink : {&output_, &error_, &input_})
    if (!sink->queue.empty()) longest = std::max(longest, loop_.clock().now() - sink->waits_since);
  return longest;
}

void Console::give_up(Sink& sink, int error) {
  sink.usable = false;
  sink.queue.clear();
  sink.written = 0;
  loop_.forget_writable(sink.fd);
  if (&sink == &output_ && broken_) broken_(error);
  if (backlog_bytes() == 0 && drained_) drained_();
}

}  // namespace paceline::launcher
