#include "tests/harness/gradient_trial.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <paceline/gradient_pipeline.h>

#include "collectives/reduce/elements.h"
#include "comm/base/random.h"
#include "comm/base/try.h"
#include "comm/base/with_type.h"
#include "tests/harness/gradient_script.h"
#include "tests/harness/ranks.h"

namespace paceline::testing {
namespace {

std::string words(double value) { return std::to_string(value); }

// What the codecs owe of the sums of all ranks, by parameter and checked element: what was handed
// in and not delivered.
using Owed = std::vector<std::vector<double>>;

class Rank {
 public:
  Rank(GradientPipeline pipeline, const GradientScript& script, int rank,
       const GradientTrial& trial)
      : pipeline_(std::move(pipeline)),
        script_(script),
        trial_(trial),
        rank_(rank),
        own_(trial.seed * 1000 + static_cast<std::uint64_t>(rank)) {
    for (std::size_t i = 0; i < count(); ++i) owed_.emplace_back(checked(i).size(), 0.0);
    saved_ = owed_;
    state_ = pipeline_.state();
  }

  Status step(std::uint64_t step) {
    PACELINE_TRY(prepare(step));
    const std::vector<int> ranks = script_.with_data(step);
    StepResult result;
    if (std::ranges::find(ranks, rank_) == ranks.end()) {
      PACELINE_TRY_ASSIGN(const std::optional<StepResult> joined, pipeline_.join());
      if (!joined) return wrong("it has ended, and others have data");
      result = *joined;
    } else {
      PACELINE_TRY_ASSIGN(result, take_part(step));
    }
    if (result.ranks != static_cast<int>(ranks.size()))
      return wrong(std::to_string(result.ranks) + " ranks have data");
    return check(step, ranks, result);
  }

  // Some gradients of the first micro-step are ready.
  Status leave(const GradientEnding& ending) {
    PACELINE_TRY(prepare(ending.step));
    PACELINE_TRY(pipeline_.set_accumulating(script_.micro_steps(ending.step) > 1));
    for (const std::size_t i : shuffled()) {
      if (script_.is_frozen(ending.step, i) || own_.below(2) == 0) continue;
      (void)pipeline_.ready(i);
    }
    if (!ending.aborts) return {};
    pipeline_.abort();
    const Result<StepResult> ended = pipeline_.wait();
    return ended.ok() ? wrong("a step ended well after abort()") : judge(ended.status(), ending);
  }

  // Is the error what a rank gets if another one has left?
  Status judge(const Status& error, const GradientEnding& ending) const {
    const bool is_right = (error.code() == Code::kCancelled || error.code() == Code::kPeerLost) &&
                          error.culprit().rank == ending.rank &&
                          pipeline_.failure().to_string() == error.to_string();
    return is_right ? Status()
                    : wrong("rank " + std::to_string(ending.rank) +
                            " has left, and this rank got " + error.to_string());
  }

  Status end() {
    PACELINE_TRY_ASSIGN(const std::optional<StepResult> joined, pipeline_.join());
    return joined ? wrong("it goes on, and nobody has data") : Status();
  }

 private:
  std::size_t count() const { return script_.parameters().size(); }
  DataType type(std::size_t parameter) const { return script_.parameters()[parameter].type; }

  // Some elements: the beginning and the end of each, and all of those that are small.
  std::vector<std::size_t> checked(std::size_t parameter) const {
    const std::size_t count = script_.parameters()[parameter].count, stride = 1 + count / 500;
    std::vector<std::size_t> elements;
    for (std::size_t i = 0; i < count; i += stride)
      elements.push_back(i + stride < count ? i : count - 1);
    return elements;
  }
  double element(std::size_t parameter, std::size_t index) const {
    return with_type(type(parameter), [&]<class T>(T) {
      return static_cast<double>(
          reduce::load_element<T>(pipeline_.gradient(parameter).data(), index));
    });
  }

  // Between steps.
  Status prepare(std::uint64_t step) {
    PACELINE_TRY(load_other_state());
    for (std::size_t i = 0; i < count(); ++i) {
      const bool is_frozen = script_.is_frozen(step, i);
      PACELINE_TRY(pipeline_.set_frozen(i, is_frozen));
      if (is_frozen) std::ranges::fill(owed_[i], 0.0);
    }
    const double scale = script_.loss_scale(step);
    if (scale != scale_) PACELINE_TRY(pipeline_.set_loss_scale(scale));
    rescale(owed_, scale / std::exchange(scale_, scale));
    if (script_.saves(step)) {
      state_ = pipeline_.state();
      saved_ = owed_;
      saved_scale_ = scale_;
    }
    if (script_.rewinds(step)) {
      PACELINE_TRY(pipeline_.load_state(state_));
      owed_ = saved_;
      rescale(owed_, scale_ / saved_scale_);
      // What is frozen has no error.
      for (std::size_t i = 0; i < count(); ++i)
        if (script_.is_frozen(step, i)) std::ranges::fill(owed_[i], 0.0);
    }
    return {};
  }
  // Of another number of ranks. kAuto keeps errors unless results have to be the same in each run.
  Status load_other_state() {
    if (trial_.other_state.empty() || script_.options().codec == Codec::kAuto) return {};
    const Status loaded = pipeline_.load_state(trial_.other_state);
    const bool has_elements = std::ranges::any_of(
        script_.parameters(), [](const Parameter& one) { return one.count > 0; });
    return script_.feeds_back() && has_elements ? expect_refused(loaded, "a state of one rank")
                                                : loaded;
  }
  static void rescale(Owed& owed, double factor) {
    for (std::vector<double>& of_parameter : owed)
      for (double& one : of_parameter) one *= factor;
  }

  Result<StepResult> take_part(std::uint64_t step) {
    const std::uint64_t micro_steps = script_.micro_steps(step);
    std::vector<bool> is_written(count(), false);
    StepResult result;
    for (std::uint64_t micro = 0; micro < micro_steps; ++micro) {
      PACELINE_TRY(pipeline_.set_accumulating(micro + 1 < micro_steps));
      for (const std::size_t i : shuffled()) {
        if (script_.is_frozen(step, i) || !script_.is_used(step, micro, rank_, i)) continue;
        for (int use = 0; use < script_.parameters()[i].uses; ++use) {
          PACELINE_TRY(hand_in(step, micro, use, i, !is_written[i]));
          is_written[i] = true;
        }
      }
      PACELINE_TRY(refused(step));
      const bool is_last = micro + 1 == micro_steps;
      if (is_last && own_.below(2) == 0)
        for (const std::size_t i : shuffled())
          if (!script_.is_frozen(step, i)) PACELINE_TRY(pipeline_.wait(i));
      PACELINE_TRY_ASSIGN(result, pipeline_.wait());
    }
    return result;
  }

  // In the pipeline's memory, or in memory that it copies.
  Status hand_in(std::uint64_t step, std::uint64_t micro, int use, std::size_t parameter,
                 bool is_first) {
    const std::span<std::byte> gradient = pipeline_.gradient(parameter);
    const bool copies = !gradient.empty() && own_.below(4) == 0;
    std::vector<std::byte> apart(copies ? gradient.size() : 0);
    std::byte* const into = copies ? apart.data() : gradient.data();
    const std::size_t elements = script_.parameters()[parameter].count;
    with_type(type(parameter), [&]<class T>(T) {
      for (std::size_t i = 0; i < elements; ++i) {
        double value = script_.value(step, micro, use, rank_, parameter, i);
        if (!is_first && !copies) value += static_cast<double>(reduce::load_element<T>(into, i));
        reduce::store_element<T>(into, i, static_cast<reduce::Wide<T>>(value));
      }
    });
    const bool is_last =
        micro + 1 == script_.micro_steps(step) && use + 1 == script_.parameters()[parameter].uses;
    if (is_last && script_.overflows(step, rank_, parameter)) spoil(parameter, into);
    return copies ? pipeline_.ready(parameter, apart.data()) : pipeline_.ready(parameter);
  }
  void spoil(std::size_t parameter, std::byte* gradient) {
    const std::size_t index = own_.below(script_.parameters()[parameter].count);
    with_type(type(parameter), [&]<class T>(T) {
      reduce::store_element<T>(
          gradient, index, static_cast<reduce::Wide<T>>(std::numeric_limits<float>::infinity()));
    });
  }

  // Calls that are wrong leave the pipeline usable.
  Status refused(std::uint64_t step) {
    if (own_.below(10) != 0) return {};
    if (!pipeline_.gradient(count()).empty()) return wrong("a gradient that does not exist");
    PACELINE_TRY(expect_refused(pipeline_.ready(count()), "a gradient that does not exist"));
    PACELINE_TRY(expect_refused(pipeline_.set_loss_scale(-1), "a loss scale below 0"));
    for (std::size_t i = 0; i < count(); ++i) {
      if (script_.is_frozen(step, i)) PACELINE_TRY(expect_refused(pipeline_.ready(i), "frozen"));
      if (!pipeline_.gradient(i).empty())
        PACELINE_TRY(expect_refused(pipeline_.ready(i, nullptr), "a null pointer"));
    }
    return {};
  }
  // Another rank may have left meanwhile: then the call returns that error.
  static Status expect_refused(const Status& status, const std::string& what) {
    if (status.code() == Code::kInvalidArgument) return {};
    const bool is_told = status.code() == Code::kCancelled || status.code() == Code::kPeerLost;
    return is_told ? status : wrong("not refused: " + what + ": " + status.to_string());
  }

  std::vector<std::size_t> shuffled() {
    std::vector<std::size_t> order(count());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[own_.below(i)]);
    return order;
  }

  Status check(std::uint64_t step, const std::vector<int>& ranks, const StepResult& result) {
    std::optional<Overflow> overflow;
    for (const int rank : ranks)
      for (std::size_t i = 0; i < count() && !overflow; ++i)
        if (script_.overflows(step, rank, i)) overflow = {.rank = rank, .parameter = i};
    if (script_.options().finds_overflow && result.overflow != overflow)
      return wrong("the overflow is " + text_of(result.overflow) + " instead of " +
                   text_of(overflow));
    if (overflow) return {};
    if (result.overflow) return wrong("an overflow");
    for (std::size_t i = 0; i < count(); ++i)
      if (!script_.is_frozen(step, i)) PACELINE_TRY(check_parameter(step, ranks, i));
    return script_.options().computes_norm ? check_norm(step, result.norm) : Status();
  }
  static std::string text_of(const std::optional<Overflow>& overflow) {
    return overflow ? "of rank " + std::to_string(overflow->rank) + " in p" +
                          std::to_string(overflow->parameter)
                    : "none";
  }

  Status check_parameter(std::uint64_t step, const std::vector<int>& ranks, std::size_t i) {
    const double divisor = script_.options().is_average ? static_cast<double>(ranks.size()) : 1.0;
    const double rounding = script_.rounding(i);
    const bool is_last = step + 1 == script_.steps();
    const double most = is_last ? script_.most_left(step, i) : script_.most_owed(step, i);
    std::size_t place = 0;
    for (const std::size_t index : checked(i)) {
      double& owed = owed_[i][place++];
      double sum = 0;
      for (const int rank : ranks) sum += script_.sum(step, rank, i, index);
      const double got = element(i, index) * divisor;
      owed += sum - got;
      const double allowed = most + rounding * (std::abs(sum) + most) * divisor;
      const bool is_exact = rounding == 0;
      const bool is_right = is_exact ? static_cast<float>(got / divisor) ==
                                           static_cast<float>(sum) / static_cast<float>(divisor)
                                     : std::abs(owed) <= allowed;
      if (!is_right)
        return wrong("p" + std::to_string(i) + "[" + std::to_string(index) + "] is " +
                     words(got / divisor) + ", where ranks handed in " + words(sum) + " / " +
                     words(divisor) + ", and " + words(owed) + " is owed (at most " +
                     words(allowed) + ")");
      if (!script_.feeds_back(i)) owed = 0;
    }
    return {};
  }

  Status check_norm(std::uint64_t step, double norm) const {
    double squares = 0;
    for (std::size_t i = 0; i < count(); ++i)
      for (std::size_t j = 0; j < script_.parameters()[i].count && !script_.is_frozen(step, i); ++j)
        squares += element(i, j) * element(i, j);
    if (std::abs(norm - std::sqrt(squares)) <= 1e-3 * std::sqrt(squares)) return {};
    return wrong("the norm is " + words(norm) + " instead of " + words(std::sqrt(squares)));
  }

  GradientPipeline pipeline_;
  const GradientScript& script_;
  const GradientTrial& trial_;
  const int rank_;
  Random own_;
  double scale_ = 1, saved_scale_ = 1;
  Owed owed_, saved_;
  std::vector<std::byte> state_;
};

std::string context(const GradientScript& script, std::uint64_t step) {
  return std::string(name(script.options().codec)) +
         (script.options().forces_codec ? ", forced" : "") + ", step " + std::to_string(step);
}

}  // namespace

Result<std::vector<std::byte>> state_of_one(Communicator own, const GradientTrial& trial) {
  const GradientScript script(trial, own.size());
  PACELINE_TRY_ASSIGN(
      const GradientPipeline pipeline,
      GradientPipeline::over(std::move(own), script.parameters(), script.options()));
  return pipeline.state();
}

Status run_gradient_trial(Communicator own, const GradientTrial& trial) {
  const int number = own.rank();
  const GradientScript script(trial, own.size());
  PACELINE_TRY_ASSIGN(
      auto pipeline, GradientPipeline::over(std::move(own), script.parameters(), script.options()));
  Rank rank(std::move(pipeline), script, number, trial);
  const std::optional<GradientEnding> ending = script.ending();
  for (std::uint64_t step = 0; step < trial.steps; ++step) {
    if (ending && ending->rank == number && ending->step == step) return rank.leave(*ending);
    const Status status = rank.step(step);
    if (status.ok()) continue;
    // Another rank may have ended the step before.
    const bool may_be_told = ending && status.code() != Code::kInternal && step + 1 >= ending->step;
    return (may_be_told ? rank.judge(status, *ending) : status).with_context(context(script, step));
  }
  if (ending) return wrong("no error although rank " + std::to_string(ending->rank) + " has left");
  return rank.end();
}

}  // namespace paceline::testing
