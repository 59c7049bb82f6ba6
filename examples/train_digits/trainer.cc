#include "examples/train_digits/trainer.h"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include <paceline/gradient_pipeline.h>
#include <paceline/steps.h>

#include "examples/train_digits/model.h"
#include "examples/train_digits/random.h"
#include "examples/train_digits/report.h"

namespace digits {
namespace {

using paceline::Code;
using paceline::Codec;
using paceline::Communicator;
using paceline::Error;
using paceline::GradientPipeline;
using paceline::Parameter;
using paceline::Scope;
using paceline::Status;
using paceline::StepResult;

void require(bool holds, const std::string& otherwise) {
  if (!holds) throw Error(Status(Code::kInvalidArgument, Scope::kProcess, otherwise));
}

void require_enough(const Split& split, const Options& options) {
  require(!split.held_out.empty(), "fewer than 5 images: none can be held out");
  require(split.train.size() >= options.batch,
          "--batch " + std::to_string(options.batch) + " is more than the " +
              std::to_string(split.train.size()) + " images to train on");
}

/// Makes the pipeline: it owns the memory of the gradients, and sums them over all ranks.
GradientPipeline make_pipeline(const Options& options, const Shape& shape, Communicator& world) {
  std::vector<Parameter> parameters;
  for (std::size_t i = 0; i < kArrays; ++i)
    parameters.push_back(
        {.name = kArrayNames[i], .count = shape.counts()[i], .columns = shape.columns()[i]});
  return GradientPipeline::create(world, parameters,
                                  {.is_average = false,
                                   .codec = options.codec,
                                   .forces_codec = options.codec != Codec::kAuto})
      .value();
}

/// The model of one rank, and the parts that train it.
struct Trainee {
  Trainee(const Options& options, Communicator& world)
      : model({.hidden = options.hidden}),
        pipeline(make_pipeline(options, model.shape(), world)),
        optimizer(model.size(), {.rate = options.rate, .momentum = options.momentum}) {
    for (std::size_t i = 0; i < kArrays; ++i) gradients[i] = pipeline.gradient<float>(i);
  }

  Model model;
  GradientPipeline pipeline;
  Gradients gradients;  ///< in the pipeline's memory
  MomentumSgd optimizer;
};

/// Makes one step on `batch`. Each rank computes its share, and returns the tally of its share.
Tally take_step(const Dataset& data, Samples batch, Trainee& trainee, const Communicator& world) {
  paceline::begin_step();
  const Samples share = share_of(batch, world.rank(), world.size());
  for (const std::span<float> gradient : trainee.gradients) std::ranges::fill(gradient, 0.0f);
  // The pipeline reduces finished gradients while backward computes the others.
  const Tally tally =
      trainee.model.accumulate(data, share, trainee.gradients,
                               [&trainee](Array done) { trainee.pipeline.ready(done).value(); });

  const StepResult result = trainee.pipeline.wait().value();  // gradients are sums now
  // The overflow is equal on all ranks: all continue, or all end here.
  require(!result.overflow, "a gradient is no longer a finite number; try a lower --rate");

  trainee.optimizer.step(trainee.model.parameters(), trainee.gradients, batch.size());
  paceline::end_step(share.size());
  return tally;
}

/// Sums the tallies of an epoch over all ranks. They serve only the report, so once is enough.
void sum_up(std::vector<Tally>& tallies, Communicator& world) {
  std::vector<double> sums;
  for (const Tally& tally : tallies) sums.insert(sums.end(), {tally.loss, tally.correct});
  world.all_reduce(std::span(sums)).value();
  for (std::size_t i = 0; i < tallies.size(); ++i)
    tallies[i] = {.loss = sums[2 * i], .correct = sums[2 * i + 1]};
}

/// Every rank classifies its share of the held-out images. Returns the sum of the counts.
std::size_t count_correct(const Model& model, const Dataset& data, Samples held_out,
                          Communicator& world) {
  const Samples share = share_of(held_out, world.rank(), world.size());
  std::int64_t correct = static_cast<std::int64_t>(model.count_correct(data, share));
  world.all_reduce(std::span(&correct, 1)).value();
  return static_cast<std::size_t>(correct);
}

}  // namespace

double train_digits(const Options& options, const Dataset& data, Communicator& world) {
  Random random(options.seed);
  Random order = random.fork();
  Split split = split_fifth(data.size(), random);
  require_enough(split, options);
  Trainee trainee(options, world);
  Report report(options, world);
  report.begin(trainee.model.size(), split.train.size(), split.held_out.size());

  // All ranks start with the parameters of rank 0.
  if (world.rank() == 0) trainee.model.randomise(random);
  world.broadcast(trainee.model.parameters(), 0).value();

  Samples samples;
  const std::size_t batches = split.train.size() / options.batch;
  for (std::size_t epoch = 0; epoch < options.epochs; ++epoch) {
    order.shuffle(std::span(split.train));  // equal on all ranks
    std::vector<Tally> tallies;
    // The last images, too few for a batch, are left out in this epoch.
    for (std::size_t batch = 0; batch < batches; ++batch) {
      if (!paceline::input_is_repeated())
        samples = Samples(split.train).subspan(batch * options.batch, options.batch);
      tallies.push_back(take_step(data, samples, trainee, world));
    }
    sum_up(tallies, world);
    for (const Tally& tally : tallies)
      report.step(tally.loss / static_cast<double>(options.batch),
                  static_cast<std::size_t>(tally.correct));
    report.end_epoch();
  }

  const std::size_t correct = count_correct(trainee.model, data, split.held_out, world);
  report.end(correct, split.held_out.size(), paceline::step_totals(), trainee.pipeline.stats());
  return 100.0 * static_cast<double>(correct) / static_cast<double>(split.held_out.size());
}

}  // namespace digits
