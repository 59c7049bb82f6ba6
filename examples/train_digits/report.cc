#include "examples/train_digits/report.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string_view>

#include <unistd.h>

namespace digits {
namespace {

using paceline::Code;
using paceline::Error;
using paceline::Scope;
using paceline::Status;

constexpr std::size_t kPlainLines = 10;

/// Under a launcher stdout is a pipe. The launcher tells whether its own stdout is a terminal.
bool ends_at_terminal() {
  const char* told = std::getenv("PACELINE_TERMINAL");
  if (told != nullptr) return std::string_view(told) == "1";
  return isatty(STDOUT_FILENO) == 1;
}

double percent(std::size_t part, std::size_t whole) {
  return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

[[noreturn]] void fail_curve(const std::string& path) {
  throw Error(Status(Code::kUnavailable, Scope::kProcess,
                     "cannot write --curve " + path + ": " + std::strerror(errno)));
}

}  // namespace

Report::Report(const Options& options, const paceline::Communicator& world)
    : options_(options),
      ranks_(world.size()),
      speaks_(world.rank() == 0),
      terminal_(ends_at_terminal()) {
  if (!speaks_ || options.curve.empty()) return;
  curve_.reset(std::fopen(options.curve.c_str(), "w"));
  if (curve_ == nullptr) fail_curve(options.curve);
}

Report::~Report() {
  if (line_open_) std::printf("\n");  // an error ended the training early
}

void Report::begin(std::size_t parameters, std::size_t train_images, std::size_t held_out_images) {
  if (!speaks_) return;
  std::printf(
      "train_digits: %d rank%s, global batch %zu, %zu parameters, %zu images to train on, "
      "%zu held out\n",
      ranks_, ranks_ == 1 ? "" : "s", options_.batch, parameters, train_images, held_out_images);
  std::fflush(stdout);
}

void Report::step(double loss, std::size_t correct) {
  if (curve_ != nullptr) std::fprintf(curve_.get(), "%zu %.17g\n", steps_, loss);
  ++steps_;
  ++epoch_steps_;
  epoch_loss_ += loss;
  epoch_correct_ += correct;
}

void Report::end_epoch() {
  ++epochs_;
  const bool last = epochs_ == options_.epochs;
  const std::size_t every = std::max<std::size_t>(1, options_.epochs / kPlainLines);
  if (speaks_ && (terminal_ || last || epochs_ % every == 0)) {
    line_open_ = terminal_ && !last;
    // The blanks overwrite the end of a longer previous line. The carriage return comes last, so
    // that a program that reads lines gets whole ones.
    std::printf("epoch %zu of %zu: loss %.4f, %.1f %% of the training images correct%s", epochs_,
                options_.epochs, epoch_loss_ / static_cast<double>(epoch_steps_),
                percent(epoch_correct_, epoch_steps_ * options_.batch),
                line_open_ ? "  \r" : (terminal_ ? "  \n" : "\n"));
    std::fflush(stdout);
  }
  epoch_steps_ = epoch_correct_ = 0;
  epoch_loss_ = 0.0;
}

void Report::end(std::size_t correct, std::size_t held_out_images,
                 const paceline::StepTotals& steps, const paceline::GradientStats& gradients) {
  if (!speaks_) return;
  const double wall = seconds(steps.wall);
  const double sum = seconds(std::reduce(steps.parts.begin(), steps.parts.end()));
  std::printf("held-out accuracy %.2f %% (%zu of %zu)\n", percent(correct, held_out_images),
              correct, held_out_images);
  std::printf("%.0f samples/s (%zu steps in %.3f s)\n",
              static_cast<double>(steps_ * options_.batch) / wall, steps_, wall);
  std::printf("%s\n", steps.to_string().c_str());
  std::printf("gradients with codec %s: %zu bucket%s a step",
              std::string(name(options_.codec)).c_str(), gradients.buckets,
              gradients.buckets == 1 ? "" : "s");
  if (gradients.bytes_sent > 0)  // 0 in shared memory
    std::printf(", %.0f bytes sent a step",
                static_cast<double>(gradients.bytes_sent) / static_cast<double>(steps_));
  std::printf("\n");
  std::printf("parts sum to %.6f s of %.6f s wall time\n", sum, wall);
  std::fflush(stdout);
  if (curve_ == nullptr) return;
  const bool failed_before = std::ferror(curve_.get()) != 0;
  if (std::fclose(curve_.release()) != 0 || failed_before) fail_curve(options_.curve);
}

}  // namespace digits
