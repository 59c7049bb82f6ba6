#include "launcher/agent/output_writer.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <unistd.h>

#include "comm/base/text.h"

namespace paceline::launcher {

WriteRetry::WriteRetry(EventLoop& loop, Options options)
    : loop_(loop), options_(std::move(options)) {}

WriteRetry::~WriteRetry() {
  if (timer_) loop_.cancel(*timer_);
}

void WriteRetry::add(OutputWriter& writer) {
  if (waiting_.empty()) stuck_since_ = loop_.clock().now();
  waiting_.push_back(&writer);
  if (timer_) return;
  options_.notice(writer.why() +
                  "; the ranks wait, and the write is repeated every second for at most " +
                  seconds_text(options_.patience));
  arm();
}

void WriteRetry::arm() {
  timer_ = loop_.after(options_.period, [this] { round(); });
}

void WriteRetry::round() {
  const TimePoint now = loop_.clock().now();
  std::vector<OutputWriter*> resumed;
  std::vector<OutputWriter*> still_waiting;
  for (OutputWriter* writer : waiting_) {
    if (writer->try_again() > 0) stuck_since_ = now;
    (writer->waiting() ? still_waiting : resumed).push_back(writer);
  }
  waiting_ = std::move(still_waiting);
  if (waiting_.empty() && resumed.empty()) return settle();
  if (!waiting_.empty() && now - stuck_since_ >= options_.patience) {
    abandon();
  } else {
    arm();
  }
  for (OutputWriter* writer : resumed) writer->resume();
}

void WriteRetry::settle() {
  if (!timer_ || !waiting_.empty()) return;
  loop_.cancel(*timer_);
  timer_.reset();
  options_.notice("the files of the output directory can be written again; no output is lost");
}

void WriteRetry::abandon() {
  timer_.reset();
  given_up_ = true;
  options_.give_up(waiting_.front()->why() + ", for " + seconds_text(options_.patience) +
                   "; the job ends, and the output that its ranks have written since then is lost");
  const std::vector<OutputWriter*> abandoned = std::exchange(waiting_, {});
  for (OutputWriter* writer : abandoned) writer->drop();
  for (OutputWriter* writer : abandoned) writer->resume();
}

void OutputWriter::write(std::string_view bytes) {
  if (retry_.given_up()) return;
  bytes.remove_prefix(write_some(bytes));
  if (bytes.empty()) return;
  rest_ = bytes;
  retry_.add(*this);
}

std::size_t OutputWriter::try_again() {
  const std::size_t taken = write_some(rest_);
  rest_.erase(0, taken);
  return taken;
}

std::size_t OutputWriter::write_some(std::string_view bytes) {
  std::size_t taken = 0;
  while (taken < bytes.size()) {
    const ssize_t written = ::write(file_.fd.get(), bytes.data() + taken, bytes.size() - taken);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      error_ = written < 0 ? errno : ENOSPC;
      break;
    }
    taken += static_cast<std::size_t>(written);
  }
  return taken;
}

std::string OutputWriter::why() const {
  return "cannot write '" + file_.path + "': " + std::strerror(error_);
}

}  // namespace paceline::launcher
