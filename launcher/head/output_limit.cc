// Runs in the head.
#include "launcher/head/output_limit.h"

#include <chrono>
#include <utility>

namespace paceline::launcher {
namespace {

// Time for the console to take the rest of the output.
constexpr Duration kOutputPatience = std::chrono::seconds(5);
// Time for the message that follows.
constexpr Duration kLastWord = std::chrono::milliseconds(100);

}  // namespace

void OutputLimit::begin(Duration grace) {
  begun_ = true;
  const Duration ranks_need = ranks_ended_ ? Duration::zero() : grace;
  loop_.after(ranks_need + kOutputPatience, [this] { give_up(); });
}

void OutputLimit::ranks_have_ended() {
  ranks_ended_ = true;
  if (begun_) begin(Duration::zero());
}

// The console, or a file of the output directory, has not taken all output.
void OutputLimit::give_up() {
  if (std::exchange(given_up_, true)) return;
  console_.say(
      "not all output could be written in time after the job was stopped; the rest is lost");
  loop_.after(kLastWord, [this] {
    is_over_ = true;
    loop_.stop();
  });
}

}  // namespace paceline::launcher
