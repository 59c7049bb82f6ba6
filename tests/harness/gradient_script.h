// What all ranks know of random steps of a gradient pipeline: each draws it anew from the seed, and
// gets the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <paceline/gradient_pipeline.h>

#include "comm/base/random.h"
#include "tests/harness/gradient_trial.h"

namespace paceline::testing {

/// A rank aborts or destroys its pipeline in the middle of a step.
struct GradientEnding {
  int rank = 0;
  std::uint64_t step = 0;
  bool aborts = false;
};

class GradientScript {
 public:
  GradientScript(const GradientTrial& trial, int ranks);

  const std::vector<Parameter>& parameters() const { return parameters_; }
  const GradientOptions& options() const { return options_; }
  std::uint64_t steps() const { return steps_; }

  /// Ranks that have data in this step, ascending.
  std::vector<int> with_data(std::uint64_t step) const;
  std::uint64_t micro_steps(std::uint64_t step) const;
  bool is_frozen(std::uint64_t step, std::size_t parameter) const;
  /// Never in the last steps of a mixed trial, so that codecs deliver the errors that they keep.
  bool is_used(std::uint64_t step, std::uint64_t micro, int rank, std::size_t parameter) const;
  /// In the last micro-step.
  bool overflows(std::uint64_t step, int rank, std::size_t parameter) const;
  double loss_scale(std::uint64_t step) const;
  /// Before the step, the pipeline gets the state that it had before an earlier one.
  bool rewinds(std::uint64_t step) const;
  bool saves(std::uint64_t step) const;
  std::optional<GradientEnding> ending() const;

  /// Whole numbers times a power of two, of which sums are exact in float32.
  double value(std::uint64_t step, std::uint64_t micro, int use, int rank, std::size_t parameter,
               std::size_t element) const;
  /// What a rank hands in.
  double sum(std::uint64_t step, int rank, std::size_t parameter, std::size_t element) const;

  /// What a codec may owe of the sum of all ranks after a step: the largest error of an element.
  double most_owed(std::uint64_t step, std::size_t parameter) const;
  /// The same after the last step.
  double most_left(std::uint64_t step, std::size_t parameter) const;
  /// How far a result may be from the exact sum of a step, relative to it: by rounding.
  double rounding(std::size_t parameter) const;
  /// Does the codec keep what it could not deliver of this parameter?
  bool feeds_back(std::size_t parameter) const;
  /// Does it keep what it could not deliver of a parameter of float32?
  bool feeds_back() const;

  Random drawn(std::uint64_t what, std::uint64_t a = 0, std::uint64_t b = 0,
               std::uint64_t c = 0) const;

 private:
  void draw_parameters(const GradientTrial& trial);
  void draw_options(const GradientTrial& trial);
  std::uint64_t flushing_steps() const;

  const std::uint64_t seed_, steps_;
  const bool is_mixed_;
  const int ranks_;
  std::vector<Parameter> parameters_;
  std::vector<std::uint64_t> steps_of_;  // by rank
  GradientOptions options_;
};

}  // namespace paceline::testing
