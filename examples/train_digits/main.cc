// train_digits: trains a classifier of handwritten digits on every rank of a job.
#include <cstdio>
#include <span>
#include <string>

#include <paceline/communicator.h>

#include "examples/train_digits/dataset.h"
#include "examples/train_digits/options.h"
#include "examples/train_digits/trainer.h"

namespace {

constexpr int kFailed = 1;
constexpr int kWrongOptions = 2;

int run(const digits::Options& options, paceline::Communicator& world) {
  const digits::Dataset data = digits::load_dataset(options.data).value();
  const double accuracy = digits::train_digits(options, data, world);
  world.close().value();  // fails unless all ranks made the same calls
  // Only rank 0 fails: if another rank failed first, the launcher could end rank 0 too early to
  // print the message.
  if (world.rank() != 0 || accuracy >= options.target) return 0;
  std::fprintf(stderr, "train_digits: accuracy %.2f %% misses --target %.2f %%\n", accuracy,
               static_cast<double>(options.target));
  return kFailed;
}

int fail(const std::string& who, const std::string& what) {
  std::fprintf(stderr, "train_digits: %s%s\n", who.c_str(), what.c_str());
  return kFailed;
}

}  // namespace

int main(int argc, char** argv) {
  const std::span<const char* const> arguments(argv + 1, static_cast<std::size_t>(argc - 1));
  const auto options = digits::parse_options(arguments);
  if (!options.ok()) {
    fail("", options.status().text());
    return kWrongOptions;
  }
  if (options->help) {
    std::fputs(digits::help_text().c_str(), stdout);
    return 0;
  }
  auto world = paceline::Communicator::init();
  if (!world.ok()) return fail("cannot join the job: ", world.status().to_string());
  try {
    return run(*options, *world);
  } catch (const paceline::Error& error) {
    return fail("rank " + std::to_string(world->rank()) + ": ", error.what());
  }
}
