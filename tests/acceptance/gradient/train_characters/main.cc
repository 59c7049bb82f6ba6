// train_characters: trains a model of what character comes next on every rank of a job, with plain
// gradient descent, and says how it went as one line of JSON.
//
//   paceline run -n 2 -- train_characters [--codec NAME] [--steps N] [--seed N]
//
// A codec that is named is used in any case; auto where it has been measured to pay. The seed
// decides the first parameters and the order of what is learnt; the text is always the same.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <paceline/communicator.h>
#include <paceline/gradient_pipeline.h>
#include <paceline/steps.h>

#include "comm/base/random.h"
#include "comm/base/text.h"
#include "tests/acceptance/gradient/train_characters/model.h"

namespace characters {
namespace {

using paceline::Codec;
using paceline::Communicator;
using paceline::GradientPipeline;

constexpr std::size_t kTextLength = 200'000, kHeldOut = 20'000;  // the end of the text
constexpr std::size_t kJudged = 4000;                            // positions that are held out
constexpr std::size_t kBatch = 64;                               // of all ranks
constexpr float kRate = 0.1f;

struct Options {
  Codec codec = Codec::kNone;
  std::size_t steps = 4000;
  std::uint64_t seed = 1;
};

bool parse(const std::vector<std::string>& words, Options& into) {
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
    const auto codec = paceline::parse_codec(words[i + 1]);
    const auto number = paceline::parse_number<std::uint64_t>(words[i + 1]);
    if (words[i] == "--codec" && codec) {
      into.codec = *codec;
    } else if (words[i] == "--steps" && number && *number > 0) {
      into.steps = *number;
    } else if (words[i] == "--seed" && number) {
      into.seed = *number;
    } else {
      return false;
    }
  }
  return words.size() % 2 == 0;
}

// This rank's of some that all ranks know: as many on each; what is left over is nobody's.
Positions share_of(Positions all, const Communicator& world) {
  const auto ranks = static_cast<std::size_t>(world.size());
  const auto rank = static_cast<std::size_t>(world.rank());
  return all.subspan(all.size() / ranks * rank, all.size() / ranks);
}

double held_out_loss(Model& model, const Text& text, Communicator& world) {
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < kJudged; ++i)
    positions.push_back(kTextLength - kHeldOut + kContext + i * ((kHeldOut - kContext) / kJudged));
  double loss = model.loss(text, share_of(positions, world));
  world.all_reduce(std::span(&loss, 1), paceline::ReduceOp::kAvg).value();
  return loss;
}

void train(const Options& options, Communicator& world) {
  const Text text = make_text(kTextLength);
  Model model(options.seed);
  auto pipeline = GradientPipeline::create(
                      world, Model::arrays(),
                      {.codec = options.codec, .forces_codec = options.codec != Codec::kAuto})
                      .value();
  Arrays gradients;
  for (std::size_t i = 0; i < kArrays; ++i) gradients[i] = pipeline.gradient<float>(i);
  const double before = held_out_loss(model, text, world);
  paceline::Random random(options.seed);  // the same on every rank
  std::vector<std::size_t> batch(kBatch);
  for (std::size_t step = 0; step < options.steps; ++step) {
    paceline::begin_step();
    for (std::size_t& position : batch)
      position = kContext + random.below(kTextLength - kHeldOut - kContext);
    model.backward(text, share_of(batch, world), gradients,
                   [&](std::size_t array) { pipeline.ready(array).value(); });
    pipeline.wait().value();
    model.step(gradients, kRate);
    paceline::end_step(kBatch);
  }
  const double after = held_out_loss(model, text, world);
  if (world.rank() != 0) return;
  const double steps = static_cast<double>(options.steps);
  const std::chrono::duration<double, std::milli> wall = paceline::step_totals().wall;
  std::printf(
      "{\"parameters\": %zu, \"loss_before\": %.9g, \"loss\": %.9g, \"step_ms\": %.6g, "
      "\"sent_bytes\": %.1f}\n",
      model.parameters().size(), before, after, wall.count() / steps,
      static_cast<double>(pipeline.stats().bytes_sent) / steps);
}

int run(const Options& options) {
  try {
    Communicator world = Communicator::init().value();
    train(options, world);
    world.close().value();
    return 0;
  } catch (const paceline::Error& error) {
    std::fprintf(stderr, "train_characters: %s\n", error.what());
    return 1;
  }
}

}  // namespace
}  // namespace characters

int main(int argc, char** argv) {
  characters::Options options;
  if (characters::parse({argv + 1, argv + argc}, options)) return characters::run(options);
  std::fputs("usage: train_characters [--codec NAME] [--steps N] [--seed N]\n", stderr);
  return 2;
}
