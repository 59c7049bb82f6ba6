// The output of rank 0: progress during the training, figures at its end. On the other ranks all
// calls have no effect.
#pragma once

#include <cstddef>
#include <cstdio>
#include <memory>

#include <paceline/communicator.h>
#include <paceline/gradient_pipeline.h>
#include <paceline/steps.h>

#include "examples/train_digits/options.h"

namespace digits {

/// Prints to stdout. Throws paceline::Error if the file of --curve cannot be written.
class Report {
 public:
  /// Borrows both arguments, which must outlive the report.
  Report(const Options& options, const paceline::Communicator& world);
  ~Report();
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;

  void begin(std::size_t parameters, std::size_t train_images, std::size_t held_out_images);
  /// `loss` is the mean over the batch before the update. `correct` counts images of the batch.
  void step(double loss, std::size_t correct);
  /// Reports the means over the steps since the last epoch.
  void end_epoch();
  void end(std::size_t correct, std::size_t held_out_images, const paceline::StepTotals& steps,
           const paceline::GradientStats& gradients);

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  const Options& options_;
  int ranks_;
  bool speaks_;             ///< true on rank 0
  bool terminal_;           ///< true: print one progress line and overwrite it; false: some lines
  bool line_open_ = false;  ///< true if the next progress line overwrites the last one
  std::unique_ptr<std::FILE, CloseFile> curve_;
  std::size_t steps_ = 0;
  std::size_t epochs_ = 0;
  std::size_t epoch_steps_ = 0;
  std::size_t epoch_correct_ = 0;
  double epoch_loss_ = 0.0;
};

}  // namespace digits
