// What rank 0 tells: progress while the training goes on, figures at its end. On the other ranks
// everything here does nothing.
#pragma once

#include <cstddef>
#include <cstdio>
#include <memory>

#include <paceline/communicator.h>
#include <paceline/gradient_pipeline.h>
#include <paceline/step_account.h>

#include "examples/train_digits/options.h"

namespace digits {

/// Prints to stdout. Throws paceline::Error where the file of --curve cannot be written.
class Report {
 public:
  /// Both are borrowed.
  Report(const Options& options, const paceline::Communicator& world);
  ~Report();
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;

  void begin(std::size_t parameters, std::size_t train_images, std::size_t held_out_images);
  /// `loss` is the mean over the batch, before the step was taken; `correct` counts within it.
  void step(double loss, std::size_t correct);
  /// Reports the means over the steps since the last epoch.
  void end_epoch();
  void end(std::size_t correct, std::size_t held_out_images, const paceline::StepSummary& summary,
           const paceline::GradientStats& gradients);

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  const Options& options_;
  int ranks_;
  bool speaks_;             ///< rank 0 does
  bool terminal_;           ///< one line, written over; else some lines
  bool line_open_ = false;  ///< the progress line waits to be written over
  std::unique_ptr<std::FILE, CloseFile> curve_;
  std::size_t steps_ = 0;
  std::size_t epochs_ = 0;
  std::size_t epoch_steps_ = 0;
  std::size_t epoch_correct_ = 0;
  double epoch_loss_ = 0.0;
};

}  // namespace digits
