// A rank of a job on several hosts in which one rank is struck: struck_rank SEED FAULT RANK
// DELAY_US.
//
// The ranks repeat an operation that knows the host map, drawn by SEED, and check its results. So
// long after the first one RANK strikes itself, from a thread of its own:
//   kill    by SIGKILL
//   stop    by SIGSTOP
//   cut     its host and the other hosts get no packet of each other (nft)
//   reset   its TCP connections to other ranks end by RST, at both ends
// It prints "struck NS" before. Each rank whose operation fails prints
//   ended RANK NS CULPRIT HOST TEXT
// NS are nanoseconds of CLOCK_MONOTONIC, which all hosts of a lab share.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <paceline/communicator.h>

#include "collectives/algo/algorithms.h"
#include "comm/base/clock.h"
#include "comm/base/random.h"
#include "comm/base/try.h"
#include "comm/socket.h"
#include "tests/harness/calls.h"

namespace paceline::testing {
namespace {

constexpr std::chrono::seconds kTimeout{1};        // of an operation
constexpr std::chrono::seconds kLongest{30};       // without an error
constexpr std::size_t kMostElements = 512 * 1024;  // of 4 bytes

void print_moment(const char* what) {
  std::printf("%s %lld\n", what,
              static_cast<long long>(SystemClock().now().time_since_epoch().count()));
  std::fflush(stdout);
}

// An unconnected socket has sent a reset to its peer (connect(2): AF_UNSPEC).
void reset_connections(const Group& group) {
  const sockaddr nobody{.sa_family = AF_UNSPEC, .sa_data = {}};
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::atoi(entry.path().filename().c_str());
    const Result<SocketAddress> remote = SocketAddress::of_remote_end(fd);
    if (!remote.ok() || remote->is_unix()) continue;
    const Result<SocketAddress> local = SocketAddress::of_local_end(fd);
    const bool is_of_rank = (local.ok() && local->to_string() == group.self().address) ||
                            std::ranges::any_of(group.members, [&](const Member& member) {
                              return member.address == remote->to_string();
                            });
    if (is_of_rank) (void)::connect(fd, &nobody, sizeof nobody);
  }
}

// The head of the job, which is not on a host, still reaches this one.
void cut_off(const Group& group) {
  const std::string own = without_port(group.self().address);
  std::string rules = "table ip struck { chain in { type filter hook input priority 0;";
  std::string out = " }; chain out { type filter hook output priority 0;";
  for (const Member& member : group.members) {
    const std::string there = without_port(member.address);
    if (there == own) continue;
    rules += " ip saddr " + there + " drop;";
    out += " ip daddr " + there + " drop;";
  }
  const std::string command = "PATH=$PATH:/usr/sbin:/sbin nft '" + rules + out + " }; }'";
  if (std::system(command.c_str()) == 0) return;
  std::fputs("nft has failed\n", stderr);
  std::abort();
}

void strike(const std::string& fault, const Group& group) {
  print_moment("struck");
  if (fault == "kill") std::raise(SIGKILL);
  if (fault == "stop") ::kill(::getpid(), SIGSTOP);
  if (fault == "cut") cut_off(group);
  if (fault == "reset") reset_connections(group);
}

// Every rank draws the same.
Call draw(std::uint64_t seed, int ranks) {
  std::vector<OperationKind> kinds;
  for (const Algorithm& algorithm : algorithms())
    if (algorithm.knows_hosts) kinds.push_back(algorithm.kind);
  Random random(seed);
  const OperationKind kind = kinds[random.below(kinds.size())];
  return {
      .kind = kind,
      .count = has_elements(kind) ? 1 + random.below(kMostElements >> (4 * random.below(5))) : 0,
      .root =
          has_root(kind) ? static_cast<int>(random.below(static_cast<std::uint64_t>(ranks))) : 0};
}

// An all-reduce keeps ranks together after operations in which some wait for nobody.
Status operate(Communicator& world, const Call& call, std::size_t number) {
  PACELINE_TRY(MadeCall(call, number, world.rank(), world.size()).check(world));
  float one = 1;
  return world.all_reduce(std::span(&one, 1));
}

int run(std::uint64_t seed, const std::string& fault, int victim, Duration delay) {
  Communicator world = Communicator::init().value();
  world.set_timeout(kTimeout).value();
  const Call call = draw(seed, world.size());
  operate(world, call, 0).value();
  std::thread striking;
  if (world.rank() == victim)
    striking = std::thread([&fault, delay, group = world.group()] {
      const timespec wait{.tv_sec = 0, .tv_nsec = delay.count()};
      ::ppoll(nullptr, 0, &wait, nullptr);
      strike(fault, group);
    });
  const SystemClock clock;
  const Deadline deadline = Deadline::after(clock, kLongest);
  Status status;
  for (std::size_t number = 1; status.ok() && !deadline.passed(clock.now()); ++number)
    status = operate(world, call, number);
  const TimePoint ended = clock.now();
  if (striking.joinable()) striking.join();
  const Culprit& culprit = status.culprit();
  std::printf("ended %d %lld %d %s %s\n", world.rank(),
              static_cast<long long>(ended.time_since_epoch().count()), culprit.rank,
              culprit.host.empty() ? "-" : culprit.host.c_str(), status.to_string().c_str());
  std::fflush(stdout);
  return 0;
}

}  // namespace
}  // namespace paceline::testing

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fputs("usage: struck_rank SEED FAULT RANK DELAY_US\n", stderr);
    return 2;
  }
  std::signal(SIGTERM, SIG_IGN);  // the launcher ends the others of a job
  const std::chrono::microseconds delay(std::atol(argv[4]));
  return paceline::testing::run(std::strtoull(argv[1], nullptr, 10), argv[2], std::atoi(argv[3]),
                                delay);
}
