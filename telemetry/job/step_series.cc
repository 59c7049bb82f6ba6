#include "telemetry/job/step_series.h"

#include <algorithm>
#include <chrono>
#include <numeric>

namespace paceline {

double StepBlock::seconds() const { return std::accumulate(parts.begin(), parts.end(), 0.0); }

StepBlock& StepBlock::operator+=(const StepBlock& other) {
  steps += other.steps;
  samples += other.samples;
  for (std::size_t i = 0; i < kStepParts; ++i) parts[i] += other.parts[i];
  return *this;
}

StepBlock& StepBlock::operator-=(const StepBlock& other) {
  steps -= other.steps;
  samples -= other.samples;
  for (std::size_t i = 0; i < kStepParts; ++i) parts[i] -= other.parts[i];
  return *this;
}

StepBlock block_of(const StepTotals& totals) {
  StepBlock block{.steps = static_cast<double>(totals.steps),
                  .samples = static_cast<double>(totals.samples)};
  for (std::size_t i = 0; i < kStepParts; ++i)
    block.parts[i] = std::chrono::duration<double>(totals.parts[i]).count();
  return block;
}

void StepSeries::take(const StepBlock& sums, int ranks) {
  if (sums.steps < reached_.steps) {
    *this = StepSeries();
    closed_ = sums;
    begin_s_ = ranks > 0 ? sums.seconds() / ranks : 0;
  }
  if (ranks > ranks_ && blocks_.size() == 1) open_first_block();
  reached_ = sums;
  ranks_ = ranks;
  if (ranks == 0 || sums.steps - closed_.steps < ranks) return;
  const double now_s = sums.seconds() / ranks - begin_s_;
  if (now_s < due_s_) return;
  blocks_.push_back(sums);
  blocks_.back() -= closed_;
  closed_ = sums;
  if (blocks_.size() == kMostBlocks) merge_neighbours();
  due_s_ = std::max(due_s_, now_s - length_s_) + length_s_;
}

// It ended before all ranks had a step.
void StepSeries::open_first_block() {
  closed_ -= blocks_.front();
  blocks_.clear();
  due_s_ = kFirstDueS;
}

void StepSeries::merge_neighbours() {
  for (std::size_t i = 0; i < kMostBlocks / 2; ++i) {
    blocks_[i] = blocks_[2 * i];
    blocks_[i] += blocks_[2 * i + 1];
  }
  blocks_.resize(kMostBlocks / 2);
  length_s_ *= 2;
}

// The steps since the last block are a block if they are not much fewer than those of others.
std::vector<StepBlock> StepSeries::blocks() const {
  std::vector<StepBlock> blocks = blocks_;
  StepBlock rest = reached_;
  rest -= closed_;
  if (rest.steps > 0) {
    const bool is_long = rest.steps >= ranks_ && rest.seconds() >= ranks_ * length_s_ / 2;
    if (blocks.empty() || is_long)
      blocks.push_back(rest);
    else
      blocks.back() += rest;
  }
  for (StepBlock& block : blocks) {
    block.steps /= ranks_;
    for (double& part : block.parts) part /= ranks_;
  }
  return blocks;
}

}  // namespace paceline
