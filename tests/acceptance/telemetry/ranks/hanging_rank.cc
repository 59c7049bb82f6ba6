// A rank whose program has a mistake, so that the ranks hang. Usage: hanging_rank HOW RANK
//   skip    the rank leaves out one of many equal operations, and waits for input after the last
//   size    the rank's array has another length; all ranks stay after the error
//   order   the rank calls the operations of two communicators in the other order
//   spin    the rank computes forever
//   write   the rank writes to its standard output without end
//   pipe    the rank writes to a pipe that nobody reads
//   none    no mistake: an operation after another
// Each rank prints its process id first.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include <poll.h>
#include <unistd.h>

#include <paceline/communicator.h>

namespace {

constexpr int kOperations = 20;
constexpr std::chrono::minutes kLongest(2);  // of a hang, if nobody ends it

// Names that the stacks have.
[[gnu::noinline]] void spin_forever() {
  // Bounded, if nobody ends it.
  for (std::uint64_t i = 0; i < std::uint64_t{1} << 37; ++i) __asm__ volatile("" : : : "memory");
}

[[gnu::noinline]] void wait_for_input() { ::poll(nullptr, 0, 1000 * 60 * kLongest.count()); }

[[gnu::noinline]] void write_without_end(int descriptor) {
  const std::vector<char> text(1 << 16, '.');
  while (::write(descriptor, text.data(), text.size()) > 0) {
  }
}

[[gnu::noinline]] void write_to_pipe() {
  int ends[2];
  if (::pipe(ends) == 0) write_without_end(ends[1]);
}

bool all_reduce(paceline::Communicator& world, std::size_t count) {
  std::vector<float> data(count, 1.0f);
  const paceline::Status done = world.all_reduce(std::span(data), paceline::ReduceOp::kSum);
  if (!done.ok()) std::fprintf(stderr, "%s\n", done.text().c_str());
  return done.ok();
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) return 2;
  const std::string how = words[1];
  paceline::Communicator world = paceline::Communicator::init().value();
  const bool is_wrong = world.rank() == std::atoi(words[2]);
  for (int i = 0; i < kOperations - 1; ++i)
    if (!all_reduce(world, 1000)) return 1;
  if (how == "none")
    while (all_reduce(world, 1000)) {
    }
  if (how == "skip") {
    if (!is_wrong) all_reduce(world, 1000);
    wait_for_input();
  } else if (how == "size") {
    all_reduce(world, is_wrong ? 999 : 1000);
    wait_for_input();
  } else if (how == "order") {
    auto first = world.split(0, world.rank(), {.name = "first"}).value();
    auto second = world.split(0, world.rank(), {.name = "second"}).value();
    all_reduce(is_wrong ? *second : *first, 1000);
    all_reduce(is_wrong ? *first : *second, 1000);
  } else if (is_wrong && how == "write") {
    write_without_end(STDOUT_FILENO);
  } else if (is_wrong) {
    how == "pipe" ? write_to_pipe() : spin_forever();
  }
  all_reduce(world, 1000);
}
