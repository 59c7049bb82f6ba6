// A rank with a steady load of which every bit is known: steady_rank COUNT STEPS [TIMES].
//
// Each step all-reduces COUNT floats that depend on the step and on the result before. After STEPS
// steps, or where STEPS is 0 once the standard input of rank 0 has ended, every rank prints
//   rank R: N steps, checksum X
// where X is a function of COUNT, N and the number of ranks alone, the same on every rank. Rank 0
// writes to the file TIMES when each of its steps ended: 64-bit nanoseconds of CLOCK_MONOTONIC.
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include <poll.h>
#include <unistd.h>

#include <paceline/communicator.h>

#include "comm/base/clock.h"

namespace {

using namespace paceline;

struct Options {
  std::size_t count = 0;
  std::uint64_t steps = 0;
  std::string times;
};

// Small whole numbers, so that every order of summation gives the same float.
void fill(std::span<float> values, int rank, std::uint64_t step, std::uint64_t checksum) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t mixed = i * 31 + step * 17 + checksum % 1009;
    values[i] = static_cast<float>((mixed + static_cast<std::uint64_t>(rank) * 7) % 251);
  }
}

std::uint64_t extend(std::uint64_t checksum, std::span<const float> values) {
  for (const float value : values) {
    checksum = std::rotl(checksum ^ std::bit_cast<std::uint32_t>(value), 23) * 0x100000001B3ull;
  }
  return checksum;
}

bool input_has_ended() {
  pollfd input{.fd = STDIN_FILENO, .events = POLLIN};
  char byte = 0;
  return ::poll(&input, 1, 0) > 0 && ::read(STDIN_FILENO, &byte, 1) <= 0;
}

void write_times(const std::string& path, const std::vector<std::int64_t>& times) {
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return std::perror(path.c_str());
  std::fwrite(times.data(), sizeof times[0], times.size(), file);
  std::fclose(file);
}

void run(Communicator& world, const Options& options) {
  const SystemClock clock;
  // One element more: who has seen the end says so.
  std::vector<float> values(options.count + 1);
  std::vector<std::int64_t> times;
  std::uint64_t checksum = 0;
  std::uint64_t step = 0;
  for (bool last = false; !last; ++step) {
    const std::span<float> load = std::span(values).first(options.count);
    fill(load, world.rank(), step, checksum);
    last = options.steps > 0 ? step + 1 == options.steps : world.rank() == 0 && input_has_ended();
    values.back() = last ? 1.0f : 0.0f;
    world.all_reduce(std::span(values)).value();
    last = values.back() > 0;
    checksum = extend(checksum, load);
    if (world.rank() == 0) times.push_back(clock.now().time_since_epoch().count());
  }
  std::printf("rank %d: %llu steps, checksum %016llx\n", world.rank(),
              static_cast<unsigned long long>(step), static_cast<unsigned long long>(checksum));
  if (world.rank() == 0 && !options.times.empty()) write_times(options.times, times);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: steady_rank COUNT STEPS [TIMES]\n", stderr);
    return 2;
  }
  const Options options{.count = std::strtoull(argv[1], nullptr, 10),
                        .steps = std::strtoull(argv[2], nullptr, 10),
                        .times = argc > 3 ? argv[3] : ""};
  Communicator world = Communicator::init().value();
  if (world.rank() == 0) std::puts("begun");
  std::fflush(stdout);
  run(world, options);
}
