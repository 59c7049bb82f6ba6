// Runs in the head.
#include "launcher/head/output_limit.h"

#include <chrono>
#include <utility>

namespace paceline::launcher {
namespace {

// How long the console may take for the rest of the output.
constexpr Duration kOutputPatience = std::chrono::seconds(5);
// And then for the line that says so.
constexpr Duration kLastWord = std::chrono::milliseconds(100);

}  // namespace

void OutputLimit::begin(Duration grace) {
  loop_.after(grace + kOutputPatience, [this] { give_up(); });
}

// The console, or a file of the output directory, has not taken all.
void OutputLimit::give_up() {
  if (std::exchange(given_up_, true)) return;
  console_.say(
      "not all output could be written in time after the job was stopped; the rest is lost");
  loop_.after(kLastWord, [this] { loop_.stop(); });
}

}  // namespace paceline::launcher
