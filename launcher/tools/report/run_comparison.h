// Differences between two runs that are beyond noise. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launcher/registry/run_entry.h"
#include "launcher/tools/report/step_estimate.h"

namespace paceline::launcher {

/// A difference is named if it is at least this share of the step time, or of the samples/s.
inline constexpr double kLeastDifference = 0.01;
/// The chance that equal runs have any named difference. Noise whose neighbours are strongly
/// correlated, and drift, raise it: the errors of means are estimated too low then.
inline constexpr double kFalseNames = 0.001;

enum class Judgement : std::uint8_t {
  kEqual,    ///< no difference beyond noise
  kSmall,    ///< below kLeastDifference
  kDrifted,  ///< the halves of a run differ more than the two runs
  kNamed,
};

struct ComparedQuantity {
  Quantity quantity{};
  StepEstimate first, second;
  /// The second mean less the first one, as a share of the first run's step time or samples/s.
  double change = 0;
  double named_from = 0;  ///< a change of about this size is beyond noise
  double drift = 0;       ///< the larger one between the halves of a run, as a share, too
  Judgement judgement{};
};

struct RunComparison {
  /// Why the runs say nothing about noise; empty: they do.
  std::string obstacle;
  /// By Quantity, those that both runs have.
  std::vector<ComparedQuantity> quantities;
  /// Facts in which the runs differ: "ranks", "hosts", "command", "folder", "--ablate".
  std::vector<std::string> other_facts;
};

/// The first block of each run has its warm-up, and is left out. All quantities are tested at once
/// (Welch's t; Holm's method), so that kFalseNames holds for all together.
RunComparison compare_runs(const RunEntry& first, const RunEntry& second);

/// Is it kNamed or kDrifted? Then there is a sentence about it.
bool is_told(const ComparedQuantity& one);
/// A sentence without its period about a quantity that is told.
std::string difference_words(const ComparedQuantity& one);
/// "The runs also differ in: ranks, hosts."; empty: they do not.
std::string other_facts_words(const RunComparison& comparison);
/// The sentence if no quantity is either.
std::string no_difference_words(const RunComparison& comparison);

}  // namespace paceline::launcher
