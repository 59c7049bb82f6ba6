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
  loop_.after(grace + kOutputPatience, [this] { give_up(); });
}

// The console, or a file of the output directory, has not taken all output.
void OutputLimit::give_up() {
  if (std::exchange(given_up_, true)) return;
  console_.say(
      "not all output could be written in time after the job was stopped; the rest is lost");
  loop_.after(kLastWord, [this] { loop_.stop(); });
}

}  // namespace paceline::launcher
