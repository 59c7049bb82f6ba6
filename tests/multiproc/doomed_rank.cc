// Ranks that all-reduce without end, until one of them dies in the middle of an operation:
//   doomed_rank RANK END MILLISECONDS MANNERS [CGROUP]
// After MILLISECONDS rank RANK ends by END: kill (somebody else sends it SIGKILL), segv, abort,
// exit (code 3), throw (an exception that nobody catches), oom (it enters the memory cgroup that
// the folder CGROUP stands for, and takes memory until it is killed). The others lose their peer,
// say so, and exit with 1. MANNERS are polite or stubborn: then they ignore SIGTERM, and those with
// an odd number never come back from their teardown.
//
// Each prints when it has joined:  rank R pid P job J
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <paceline/communicator.h>

namespace {

using namespace paceline;

constexpr std::size_t kCount = 20'000;
constexpr std::size_t kPieceBytes = 1 << 20;

struct Options {
  int rank = 0;
  std::string end;
  int after_ms = 0;
  bool stubborn = false;
  std::string cgroup;
};

[[noreturn]] void wait_for_a_signal() {
  for (;;) ::pause();
}

[[noreturn]] void run_out_of_memory(const std::string& cgroup) {
  std::FILE* const members = std::fopen((cgroup + "/cgroup.procs").c_str(), "w");
  if (members == nullptr || std::fprintf(members, "%d\n", ::getpid()) < 0 ||
      std::fclose(members) != 0) {
    std::perror(cgroup.c_str());
    std::_Exit(2);
  }
  for (;;) std::memset(::operator new(kPieceBytes), 1, kPieceBytes);
}

[[noreturn]] void die(const Options& options) {
  if (options.end == "segv") ::raise(SIGSEGV);
  if (options.end == "abort") std::abort();
  if (options.end == "exit") std::_Exit(3);
  if (options.end == "throw") throw std::runtime_error("the loss is not a number");
  if (options.end == "oom") run_out_of_memory(options.cgroup);
  wait_for_a_signal();
}

// On a thread of its own, so that the rank can be anywhere in an operation. Nothing else wakes it.
void die_later(const Options& options) {
  std::thread([options] {
    ::poll(nullptr, 0, options.after_ms);
    die(options);
  }).detach();
}

// Until the rank dies or has lost a peer.
Status train(Communicator& world) {
  std::vector<float> gradients(kCount, 1.0f);
  Status status;
  while (status.ok()) status = world.all_reduce(std::span(gradients), ReduceOp::kMax);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fputs("usage: doomed_rank RANK END MILLISECONDS polite|stubborn [CGROUP]\n", stderr);
    return 2;
  }
  const Options options{.rank = std::atoi(argv[1]),
                        .end = argv[2],
                        .after_ms = std::atoi(argv[3]),
                        .stubborn = std::string_view(argv[4]) == "stubborn",
                        .cgroup = argc > 5 ? argv[5] : ""};
  if (options.stubborn) ::signal(SIGTERM, SIG_IGN);
  Communicator world = Communicator::init().value();
  std::printf("rank %d pid %d job %s\n", world.rank(), ::getpid(), std::getenv("PACELINE_JOB_ID"));
  std::fflush(stdout);
  world.barrier().value();  // nobody dies before all have said so
  if (world.rank() == options.rank) die_later(options);
  const Status status = train(world);
  std::fprintf(stderr, "%s\n", status.to_string().c_str());
  if (options.stubborn && world.rank() % 2 == 1) wait_for_a_signal();
  return status.code() == Code::kPeerLost ? 1 : 2;
}
