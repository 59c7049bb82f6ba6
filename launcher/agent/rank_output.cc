#include "launcher/agent/rank_output.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <utility>

#include <unistd.h>

namespace paceline::launcher {
namespace {

constexpr std::size_t kReadBytes = 64 << 10;
constexpr int kMaxDrainReads = 32;  // twice what Linux lets a pipe hold without privilege

}  // namespace

RankOutput::RankOutput(EventLoop& loop, UniqueFd pipe, std::optional<LineSplitter> splitter,
                       Sink sink)
    : loop_(loop), pipe_(std::move(pipe)), splitter_(std::move(splitter)), sink_(std::move(sink)) {}

void RankOutput::set_reading(bool on) {
  if (!pipe_ || reading_ == on) return;
  reading_ = on;
  if (on)
    loop_.when_readable(pipe_.get(), [this] { read_some(); });
  else
    loop_.forget_readable(pipe_.get());
}

void RankOutput::drain() {
  for (int i = 0; i < kMaxDrainReads && read_some(); ++i) {
  }
}

void RankOutput::finish() {
  drain();
  if (pipe_) end();
}

void RankOutput::end() {
  set_reading(false);
  pipe_.reset();
  if (splitter_) splitter_->finish(sink_);
}

// False when there is nothing more now.
bool RankOutput::read_some() {
  if (!pipe_) return false;
  std::array<char, kReadBytes> bytes;
  const ssize_t got = ::read(pipe_.get(), bytes.data(), bytes.size());
  if (got < 0) return errno == EINTR;
  if (got == 0) {
    end();
    return false;
  }
  const std::string_view text(bytes.data(), static_cast<std::size_t>(got));
  if (splitter_)
    splitter_->feed(text, sink_);
  else
    sink_(text, messages::RAW);
  return true;
}

}  // namespace paceline::launcher
