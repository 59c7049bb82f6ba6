// The steps of a job over time, in a bounded number of blocks: how far step times vary, and whether
// they change while the job runs. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include <paceline/steps.h>

namespace paceline {

/// Steps that follow each other.
struct StepBlock {
  double steps = 0;                        ///< mean over ranks
  double samples = 0;                      ///< of all ranks together
  std::array<double, kStepParts> parts{};  ///< seconds, by StepPart; means over ranks

  /// Wall time.
  double seconds() const;
  double part(StepPart one) const { return parts[static_cast<std::size_t>(one)]; }

  StepBlock& operator+=(const StepBlock& other);
  StepBlock& operator-=(const StepBlock& other);
  bool operator==(const StepBlock&) const = default;
};

/// The steps of one rank.
StepBlock block_of(const StepTotals& totals);

/// Blocks of about the same time, a second at first. When there are too many, neighbours become
/// one. So a series has at least half of kMostBlocks if its job takes that many seconds, and memory
/// is bounded. A block has at least one step of each rank on average, however long that takes,
/// unless there is no other block.
class StepSeries {
 public:
  static constexpr std::size_t kMostBlocks = 64;

  /// The sums over all ranks since their begin, each time that a rank was read. `ranks`: those with
  /// steps. Fewer steps than before: a rank runs another program, so the series begins anew.
  void take(const StepBlock& sums, int ranks);
  std::vector<StepBlock> blocks() const;

 private:
  static constexpr double kFirstDueS = 0.9;

  void open_first_block();
  void merge_neighbours();

  std::vector<StepBlock> blocks_;  // sums over ranks
  StepBlock reached_, closed_;     // sums of the last take(), and at the end of the last block
  double begin_s_ = 0;             // of the first block, mean over ranks
  // Ranks are read each second, one after another: a block ends when most of them were read.
  double length_s_ = 1, due_s_ = kFirstDueS;
  int ranks_ = 0;
};

}  // namespace paceline
