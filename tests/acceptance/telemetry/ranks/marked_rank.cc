// A rank that marks its steps. Usage: marked_rank [NAME=VALUE]…
//   steps=N        1000
//   compute_us=N   each step computes for about so long (200)
//   input_us=N     and waits for input for about so long (100)
//   late=RANK      this rank takes late_us longer in each step (-1: none)
//   late_us=N      1000
//   late_in=PART   compute or input (compute)
//   touch=FILE     each step reads pages of FILE.RANK at random in memory (none); the rank reads
//                  the whole file a second after its start
//   touches=N      so many pages (100)
//   overlap_us=N   the all-reduce overlaps with further computation of exactly so long (0: none)
//   sleeps=1       computation is a sleep, so more ranks than CPUs do not slow each other down
//   strong=1       the ranks share computation and samples of a step
//   count=N        elements of the all-reduce (1000)
//   seed=N         runs of different seeds have other times of steps (0)
//   asks=0         it loads input although paceline::input_is_repeated() (1)
// Prints a JSON object: its own count of the time from the first mark to the last, and the totals
// of the library, in nanoseconds.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <paceline/communicator.h>
#include <paceline/steps.h>

#include "comm/base/random.h"

namespace {

using Clock = std::chrono::steady_clock;
using Microseconds = std::chrono::microseconds;

class Settings {
 public:
  Settings(int count, char** words) {
    for (int i = 1; i < count; ++i) {
      const std::string word = words[i];
      const std::size_t equals = word.find('=');
      if (equals == word.npos || !values_.contains(word.substr(0, equals))) {
        std::fprintf(stderr, "marked_rank: '%s' is not NAME=VALUE of a known name\n", words[i]);
        std::exit(2);
      }
      values_[word.substr(0, equals)] = word.substr(equals + 1);
    }
  }
  long number(const std::string& name) const { return std::atol(values_.at(name).c_str()); }
  const std::string& text(const std::string& name) const { return values_.at(name); }

 private:
  std::map<std::string, std::string> values_{
      {"steps", "1000"},   {"compute_us", "200"},  {"input_us", "100"}, {"late", "-1"},
      {"late_us", "1000"}, {"late_in", "compute"}, {"touch", ""},       {"touches", "100"},
      {"overlap_us", "0"}, {"sleeps", "0"},        {"strong", "0"},     {"count", "1000"},
      {"seed", "0"},       {"asks", "1"}};
};

// Half of the time to one and a half times it.
Microseconds about(paceline::Random& random, long us) {
  return Microseconds(us / 2 + static_cast<long>(random.below(static_cast<std::uint64_t>(us) + 1)));
}

void sleep(Microseconds time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const timespec amount{.tv_sec = seconds.count(),
                        .tv_nsec = std::chrono::nanoseconds(time - seconds).count()};
  ::ppoll(nullptr, 0, &amount, nullptr);
}

void spin(Microseconds time) {
  const auto until = Clock::now() + time;
  while (Clock::now() < until) {
  }
}

class TouchedFile {
 public:
  TouchedFile(const std::string& path, long touches) : touches_(touches) {
    if (path.empty()) return;
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    bytes_ = file < 0 ? 0 : static_cast<std::size_t>(::lseek(file, 0, SEEK_END));
    void* const memory = ::mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) {
      std::perror(path.c_str());
      std::exit(2);
    }
    ::madvise(memory, bytes_, MADV_RANDOM);
    memory_ = static_cast<const volatile std::uint8_t*>(memory);
    sleep(std::chrono::seconds(1));
    for (std::size_t at = 0; at < bytes_; at += 4096) sum_ += memory_[at];
  }
  void touch(paceline::Random& random) {
    for (long i = 0; memory_ != nullptr && i < touches_; ++i) sum_ += memory_[random.below(bytes_)];
  }

 private:
  const long touches_;
  const volatile std::uint8_t* memory_ = nullptr;
  std::size_t bytes_ = 0;
  std::uint64_t sum_ = 0;
};

}  // namespace

int main(int count, char** words) {
  const Settings settings(count, words);
  paceline::Communicator world = paceline::Communicator::init().value();
  const long seed = settings.number("seed") * world.size() + world.rank() + 1;
  paceline::Random random(static_cast<std::uint64_t>(seed));
  const bool is_late = world.rank() == settings.number("late");
  const Microseconds late(is_late ? settings.number("late_us") : 0);
  const bool asks = settings.number("asks") != 0;
  const bool is_late_in_input = settings.text("late_in") == "input";
  const Microseconds overlap(settings.number("overlap_us"));
  const std::string& touched = settings.text("touch");
  TouchedFile file(touched.empty() ? "" : touched + "." + std::to_string(world.rank()),
                   settings.number("touches"));
  const long share = settings.number("strong") != 0 ? world.size() : 1;
  const bool sleeps = settings.number("sleeps") != 0;
  const auto compute = [&](Microseconds time) { sleeps ? sleep(time) : spin(time); };
  std::vector<float> gradients(static_cast<std::size_t>(settings.number("count")), 1.0f);
  const auto begin = Clock::now();
  for (long step = 0; step < settings.number("steps"); ++step) {
    paceline::begin_step();
    {
      const paceline::StepPartScope input(paceline::StepPart::kInput);
      const bool is_repeated = asks && paceline::input_is_repeated();
      if (!is_repeated)
        sleep(about(random, settings.number("input_us")) +
              (is_late_in_input ? late : Microseconds(0)));
    }
    compute(about(random, settings.number("compute_us") / share));
    file.touch(random);
    if (overlap > Microseconds(0)) {
      paceline::Work work = world.all_reduce_async(std::span(gradients), paceline::ReduceOp::kAvg);
      compute(overlap);
      work.wait().value();
    } else {
      if (!is_late_in_input) compute(late);
      world.all_reduce(std::span(gradients), paceline::ReduceOp::kAvg).value();
    }
    paceline::end_step(static_cast<std::uint64_t>(64 / share), 1e6);
  }
  const auto wall = std::chrono::nanoseconds(Clock::now() - begin);
  const paceline::StepTotals totals = paceline::step_totals();
  world.close().value();
  std::printf("{\"own_wall\": %lld, \"wall\": %lld, \"steps\": %llu, \"samples\": %llu",
              static_cast<long long>(wall.count()), static_cast<long long>(totals.wall.count()),
              static_cast<unsigned long long>(totals.steps),
              static_cast<unsigned long long>(totals.samples));
  for (std::size_t i = 0; i < paceline::kStepParts; ++i)
    std::printf(", \"%s\": %lld", std::string(name(static_cast<paceline::StepPart>(i))).c_str(),
                static_cast<long long>(totals.parts[i].count()));
  std::printf("}\n");
}
