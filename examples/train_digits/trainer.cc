#include "examples/train_digits/trainer.h"

#include <cmath>
#include <span>
#include <string>

#include <paceline/step_account.h>

#include "examples/train_digits/model.h"
#include "examples/train_digits/random.h"
#include "examples/train_digits/report.h"

namespace digits {
namespace {

using paceline::Code;
using paceline::Communicator;
using paceline::Error;
using paceline::Part;
using paceline::Scope;
using paceline::Status;
using paceline::StepAccount;

void require(bool holds, const std::string& otherwise) {
  if (!holds) throw Error(Status(Code::kInvalidArgument, Scope::kProcess, otherwise));
}

void require_enough(const Split& split, const Options& options) {
  require(!split.held_out.empty(), "fewer than 5 images: none can be held out");
  require(split.train.size() >= options.batch,
          "--batch " + std::to_string(options.batch) + " is more than the " +
              std::to_string(split.train.size()) + " images to train on");
}

/// What one rank trains.
struct Trainee {
  explicit Trainee(const Options& options)
      : model({.hidden = options.hidden}),
        arena(model.size()),
        optimizer(model.size(), {.rate = options.rate, .momentum = options.momentum}) {}

  Model model;
  GradientArena arena;
  MomentumSgd optimizer;
};

/// One step on `batch`, of which each rank computes its share. Afterwards the arena holds the sums
/// over the whole batch.
void take_step(const Dataset& data, Samples batch, Trainee& trainee, Communicator& world,
               StepAccount& account) {
  account.enter(Part::kCompute);
  trainee.arena.clear();
  trainee.model.accumulate(data, share_of(batch, world.rank(), world.size()), trainee.arena);

  account.enter(Part::kCommunication);
  world.all_reduce(trainee.arena.all()).value();

  account.enter(Part::kCompute);
  trainee.optimizer.step(trainee.model.parameters(), trainee.arena.gradients(), batch.size());
  account.end_step();
}

/// Every rank classifies its share of the held-out images; the counts are summed.
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
  Trainee trainee(options);
  Report report(options, world);
  report.begin(trainee.model.size(), split.train.size(), split.held_out.size());

  // All ranks start from rank 0's parameters, whatever they hold themselves.
  if (world.rank() == 0) trainee.model.randomise(random);
  world.broadcast(trainee.model.parameters(), 0).value();

  StepAccount account;
  const std::size_t batches = split.train.size() / options.batch;
  for (std::size_t epoch = 0; epoch < options.epochs; ++epoch) {
    order.shuffle(std::span(split.train));  // the same on every rank
    // Images that do not fill a batch wait for another epoch's order.
    for (std::size_t batch = 0; batch < batches; ++batch) {
      take_step(data, Samples(split.train).subspan(batch * options.batch, options.batch), trainee,
                world, account);
      const double loss = trainee.arena.loss() / static_cast<double>(options.batch);
      // A sum over all ranks: all of them go on, or all end here.
      require(std::isfinite(loss), "the loss is no longer a finite number; try a lower --rate");
      report.step(loss, static_cast<std::size_t>(trainee.arena.correct()));
    }
    report.end_epoch();
  }

  const std::size_t correct = count_correct(trainee.model, data, split.held_out, world);
  report.end(correct, split.held_out.size(), account.summary());
  return 100.0 * static_cast<double>(correct) / static_cast<double>(split.held_out.size());
}

}  // namespace digits
