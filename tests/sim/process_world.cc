#include "tests/sim/process_world.h"

#include <cstdio>
#include <ctime>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comm/base/assert.h"
#include "comm/base/cpus.h"
#include "comm/poll_engine.h"
#include "tests/harness/shared_world.h"
#include "tests/harness/tcp_world.h"
#include "tests/sim/rank_calls.h"

namespace paceline::testing {
namespace {

std::unique_ptr<World> make_world(int ranks, ProcessWorld::Over over) {
  if (over == ProcessWorld::Over::kTcp) return std::make_unique<TcpWorld>(ranks);
  const bool crowded = ranks > affinity().count();
  return std::make_unique<SharedWorld>(
      ranks, crowded ? SharedWorld::Backend::kGathering : SharedWorld::Backend::kDirect,
      SharedWorld::Ranks::kProcesses);
}

std::string run_rank(World& world, int rank, const Scenario& scenario,
                     const ProcessWorld::Body& body) {
  auto engine = PollEngine::create(PollEngine::options_for(world.size())).value();
  auto transport = world.enter(rank, engine);
  auto backend = world.backend(rank, *transport);
  world.close_other_doors();
  Communicator communicator = communicator_over(engine, std::move(transport),
                                                communicator_options(scenario), std::move(backend));
  return body(communicator);
}

[[noreturn]] void live(World& world, int rank, const Scenario& scenario,
                       const ProcessWorld::Body& body, int report) {
  const std::string text = run_rank(world, rank, scenario, body);
  (void)!::write(report, text.data(), text.size());
  std::fflush(nullptr);
  ::_exit(0);
}

timespec to_timespec(Duration time) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  return {.tv_sec = time.count() / kSecond, .tv_nsec = time.count() % kSecond};
}

}  // namespace

ProcessWorld::ProcessWorld(const Scenario& scenario, Over over, const Body& body) {
  const std::unique_ptr<World> world = make_world(scenario.ranks, over);
  const pid_t parent = ::getpid();
  for (int rank = 0; rank < scenario.ranks; ++rank) {
    int ends[2];
    PACELINE_ASSERT(::pipe2(ends, O_CLOEXEC) == 0);
    std::fflush(nullptr);
    Child child{.pid = ::fork(), .pipe = UniqueFd(ends[0])};
    PACELINE_ASSERT(child.pid >= 0);
    if (child.pid == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(1);
      live(*world, rank, scenario, body, ends[1]);
    }
    ::close(ends[1]);
    children_.push_back(std::move(child));
  }
}

ProcessWorld::~ProcessWorld() {
  for (const Child& child : children_) ::kill(child.pid, SIGKILL);
  for (const Child& child : children_) ::waitpid(child.pid, nullptr, 0);
}

void ProcessWorld::strike(int rank, int signal) {
  Child& child = children_[static_cast<std::size_t>(rank)];
  ::kill(child.pid, signal);
  child.struck = true;
}

bool ProcessWorld::collect(TimePoint until) {
  const SystemClock clock;
  while (true) {
    std::vector<pollfd> polled;
    std::vector<Child*> waited;
    for (Child& child : children_) {
      if (child.struck || !child.pipe) continue;
      polled.push_back({.fd = child.pipe.get(), .events = POLLIN});
      waited.push_back(&child);
    }
    if (waited.empty()) return true;
    const timespec left = to_timespec(Deadline::at(until).left(clock.now()));
    const int ready = ::ppoll(polled.data(), polled.size(), &left, nullptr);
    if (ready == 0) return false;
    for (std::size_t i = 0; ready > 0 && i < polled.size(); ++i) {
      if (polled[i].revents == 0) continue;
      char buffer[4096];
      const ssize_t got = ::read(polled[i].fd, buffer, sizeof buffer);
      if (got > 0) waited[i]->report.append(buffer, static_cast<std::size_t>(got));
      if (got == 0) waited[i]->pipe.reset();
    }
  }
}

const std::string& ProcessWorld::report(int rank) const { return child(rank).report; }
bool ProcessWorld::has_ended(int rank) const { return !child(rank).pipe; }

}  // namespace paceline::testing
