#include "launcher/agent/rank_output.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <utility>

#include <sys/ioctl.h>
#include <unistd.h>

namespace paceline::launcher {
namespace {

constexpr std::size_t kReadBytes = 64 << 10;
// A line whose newline has not come by then may be a prompt.
constexpr Duration kPromptPatience = std::chrono::milliseconds(50);
constexpr int kMaxDrainReads = 32;  // twice what Linux lets a pipe hold without privilege

}  // namespace

RankOutput::RankOutput(EventLoop& loop, UniqueFd pipe, Options options)
    : loop_(loop), pipe_(std::move(pipe)), options_(std::move(options)) {
  if (options_.file) {
    options_.file->when_resumed([this] {
      watch();
      if (!pipe_) options_.ended();
    });
  }
  watch();
}

RankOutput::~RankOutput() {
  if (prompt_) loop_.cancel(*prompt_);
  if (reading_) loop_.forget_readable(pipe_.get());
}

void RankOutput::set_console_ready(bool ready) {
  console_ready_ = ready;
  watch();
}

void RankOutput::watch() {
  const bool file_takes = !options_.file || !options_.file->waiting();
  const bool console_takes = !options_.console || console_ready_;
  const bool on = pipe_ && file_takes && console_takes;
  if (std::exchange(reading_, on) == on) return;
  if (on)
    loop_.when_readable(pipe_.get(), [this] { read_some(); });
  else
    loop_.forget_readable(pipe_.get());
}

void RankOutput::drain() {
  for (int i = 0; i < kMaxDrainReads && read_some(); ++i) {
  }
}

// A process that even SIGKILL did not end yet may hold the other side of the pipe, so it is its
// being empty that counts, not its end.
void RankOutput::finish() {
  finishing_ = true;
  drain();
  if (pipe_ && pipe_is_empty()) end();
}

bool RankOutput::pipe_is_empty() const {
  int bytes = 0;
  return ::ioctl(pipe_.get(), FIONREAD, &bytes) != 0 || bytes == 0;
}

// False when there is nothing more now, or nobody to take it.
bool RankOutput::read_some() {
  if (!reading_) return false;
  std::array<char, kReadBytes> bytes;
  const ssize_t got = ::read(pipe_.get(), bytes.data(), bytes.size());
  if (got < 0) return errno == EINTR;
  if (got == 0) {
    end();
    return false;
  }
  const std::string_view text(bytes.data(), static_cast<std::size_t>(got));
  if (options_.file) options_.file->write(text);
  if (options_.console) pass_on(text);
  watch();
  if (finishing_ && pipe_ && pipe_is_empty()) end();
  return reading_;
}

void RankOutput::pass_on(std::string_view text) {
  if (options_.before_read) options_.before_read();
  if (!options_.splitter) return options_.console(text, messages::RAW);
  options_.splitter->feed(text, options_.console);
  if (options_.shows_prompts) await_prompt();
}

void RankOutput::await_prompt() {
  if (prompt_) loop_.cancel(*prompt_);
  prompt_ = loop_.after(kPromptPatience, [this] {
    prompt_.reset();
    options_.splitter->show_begun(options_.console);
  });
}

void RankOutput::end_prompt() {
  if (options_.splitter) options_.splitter->end_shown();
}

void RankOutput::end() {
  if (std::exchange(reading_, false)) loop_.forget_readable(pipe_.get());
  pipe_.reset();
  if (options_.console && options_.splitter) options_.splitter->finish(options_.console);
  if (!options_.file || !options_.file->waiting()) options_.ended();
}

}  // namespace paceline::launcher
