#include "tests/harness/ranks.h"

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <thread>

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collectives/communicator_core.h"
#include "comm/base/assert.h"
#include "comm/device/cuda/nccl_groups.h"
#include "comm/poll_engine.h"
#include "comm/simulation.h"
#include "tests/harness/composite_world.h"
#include "tests/harness/sanitized.h"
#include "tests/harness/shared_world.h"
#include "tests/harness/standin_nccl.h"
#include "tests/harness/tcp_world.h"

namespace paceline::testing {
namespace {

// What a rank starts with.
struct Start {
  std::shared_ptr<Engine> engine;
  std::unique_ptr<Transport> transport;
  std::unique_ptr<CollectiveBackend> backend;  // null: plans
  InprocNetwork* network = nullptr;
};
using EndBody = std::function<Status(Start)>;

Status of_rank(const Status& status, int rank) {
  return status.with_context("rank " + std::to_string(rank));
}

Status first_failure(const std::vector<Status>& statuses) {
  for (std::size_t rank = 0; rank < statuses.size(); ++rank) {
    if (!statuses[rank].ok()) return of_rank(statuses[rank], static_cast<int>(rank));
  }
  return {};
}

// ---- simulation ----

Status run_simulated(const RunOptions& options, const EndBody& body) {
  Simulation simulation({.ranks = options.ranks, .seed = options.seed});
  InprocNetwork network(simulation, options.network);
  std::vector<Status> statuses(static_cast<std::size_t>(options.ranks));
  const Status simulated = simulation.run([&](int rank, Engine& engine) {
    // Not owned: the simulation's engines outlive its run.
    std::shared_ptr<Engine> borrowed(std::shared_ptr<void>(), &engine);
    statuses[static_cast<std::size_t>(rank)] =
        body({.engine = borrowed,
              .transport = network.connect(network.group(rank)),
              .backend = nullptr,
              .network = &network});
  });
  Status failure = first_failure(statuses);
  if (failure.ok()) failure = simulated;
  return failure.with_context("PACELINE_SEED=" + std::to_string(options.seed));
}

// ---- threads ----

SharedWorld::Backend backend_of(Mode mode) {
  switch (mode) {
    case Mode::kDirect:
    case Mode::kDirectThreads:
      return SharedWorld::Backend::kDirect;
    case Mode::kGathering:
    case Mode::kGatheringThreads:
      return SharedWorld::Backend::kGathering;
    default:
      return SharedWorld::Backend::kPlans;
  }
}

bool is_composite(Mode mode) { return mode == Mode::kComposite || mode == Mode::kCompositeThreads; }

// By rank, where some share one.
std::vector<int> hosts_of(const RunOptions& options) {
  std::vector<int> hosts;
  for (int rank = 0; is_composite(options.mode) && rank < options.ranks; ++rank)
    hosts.push_back(CompositeWorld::host_of(rank));
  return hosts;
}

std::unique_ptr<World> make_world(const RunOptions& options, SharedWorld::Ranks kind) {
  if (options.mode == Mode::kThreads || options.mode == Mode::kProcesses) {
    return std::make_unique<TcpWorld>(options.ranks);
  }
  if (options.mode == Mode::kSealedThreads)
    return std::make_unique<TcpWorld>(options.ranks, TcpPort::Options{.integrity = true});
  if (is_composite(options.mode)) return std::make_unique<CompositeWorld>(options.ranks);
  return std::make_unique<SharedWorld>(options.ranks, backend_of(options.mode), kind,
                                       options.shared);
}

Start enter(World& world, int rank) {
  auto engine = PollEngine::create(PollEngine::options_for(world.size())).value();
  auto transport = world.enter(rank, engine);
  auto backend = world.backend(rank, *transport);
  return {.engine = std::move(engine),
          .transport = std::move(transport),
          .backend = std::move(backend)};
}

Status run_threads(const RunOptions& options, const EndBody& body) {
  const std::unique_ptr<World> world = make_world(options, SharedWorld::Ranks::kThreads);
  std::vector<Status> statuses(static_cast<std::size_t>(options.ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < options.ranks; ++rank) {
    threads.emplace_back(
        [&, rank] { statuses[static_cast<std::size_t>(rank)] = body(enter(*world, rank)); });
  }
  for (std::thread& thread : threads) thread.join();
  return first_failure(statuses);
}

// ---- processes ----

struct Child {
  pid_t pid = -1;
  UniqueFd report;  // what its body found wrong, as text; end of file when it is gone
};

[[noreturn]] void run_child(World& world, int rank, const EndBody& body, int report) {
  Start start = enter(world, rank);
  world.close_other_doors();
  const Status status = body(std::move(start));
  const std::string text = status.ok() ? "" : status.to_string();
  (void)!::write(report, text.data(), text.size());
  std::fflush(nullptr);
  ::_exit(status.ok() ? 0 : 1);
}

Child start_child(World& world, int rank, const EndBody& body) {
  int ends[2];
  PACELINE_ASSERT(::pipe(ends) == 0);
  std::fflush(nullptr);
  Child child{.pid = ::fork(), .report = UniqueFd(ends[0])};
  PACELINE_ASSERT(child.pid >= 0);
  if (child.pid == 0) run_child(world, rank, body, ends[1]);
  ::close(ends[1]);
  return child;
}

// What the child said, or that it fell silent or died.
Status await_child(const Child& child, Deadline deadline) {
  const SystemClock clock;
  std::string text;
  char buffer[4096];
  while (true) {
    pollfd polled{.fd = child.report.get(), .events = POLLIN};
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline.left(clock.now()));
    if (::poll(&polled, 1, static_cast<int>(left.count())) == 0) {
      ::kill(child.pid, SIGKILL);
      text = "still running at the deadline: killed";
    }
    const ssize_t got = ::read(child.report.get(), buffer, sizeof buffer);
    if (got <= 0) break;
    text.append(buffer, static_cast<std::size_t>(got));
  }
  int wait_status = 0;
  PACELINE_ASSERT(::waitpid(child.pid, &wait_status, 0) == child.pid);
  if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0) return {};
  if (text.empty()) text = "process ended with wait status " + std::to_string(wait_status);
  return Status(Code::kInternal, Scope::kOperation, text);
}

Status run_processes(const RunOptions& options, const EndBody& body) {
  const SystemClock clock;
  const Deadline deadline = Deadline::after(clock, 2 * options.timeout);
  const std::unique_ptr<World> world = make_world(options, SharedWorld::Ranks::kProcesses);
  std::vector<Child> children;
  for (int rank = 0; rank < options.ranks; ++rank) {
    children.push_back(start_child(*world, rank, body));
  }
  world->close_other_doors();
  std::vector<Status> statuses;
  for (const Child& child : children) statuses.push_back(await_child(child, deadline));
  return first_failure(statuses);
}

Status run(const RunOptions& options, const EndBody& body) {
  switch (options.mode) {
    case Mode::kSimulation:
      return run_simulated(options, body);
    case Mode::kThreads:
    case Mode::kSealedThreads:
    case Mode::kSharedMemoryThreads:
    case Mode::kDirectThreads:
    case Mode::kGatheringThreads:
    case Mode::kCompositeThreads:
      return run_threads(options, body);
    case Mode::kProcesses:
    case Mode::kSharedMemory:
    case Mode::kDirect:
    case Mode::kGathering:
    case Mode::kComposite:
      return run_processes(options, body);
  }
  return {};
}

// Lets the engine drive a transport that no communicator owns.
class DrivenTransport final : private Driver {
 public:
  DrivenTransport(Engine& engine, Transport& transport) : engine_(engine), transport_(transport) {
    const Engine::Baton baton = engine_.hold();
    engine_.attach(*this);
  }
  ~DrivenTransport() override {
    const Engine::Baton baton = engine_.hold();
    engine_.detach(*this);
  }

 private:
  bool drive(TimePoint now) override { return transport_.drive(now); }
  TimePoint wake_at() const override { return transport_.wake_at(); }

  Engine& engine_;
  Transport& transport_;
};

}  // namespace

std::string name(Mode mode) {
  switch (mode) {
    case Mode::kSimulation:
      return "simulation";
    case Mode::kThreads:
      return "threads";
    case Mode::kSealedThreads:
      return "sealed_threads";
    case Mode::kProcesses:
      return "processes";
    case Mode::kSharedMemory:
      return "shared_memory";
    case Mode::kSharedMemoryThreads:
      return "shared_memory_threads";
    case Mode::kDirect:
      return "direct";
    case Mode::kDirectThreads:
      return "direct_threads";
    case Mode::kGathering:
      return "gathering";
    case Mode::kGatheringThreads:
      return "gathering_threads";
    case Mode::kComposite:
      return "composite";
    case Mode::kCompositeThreads:
      return "composite_threads";
  }
  return "unknown";
}

Status RankEnd::wait(FunctionRef<bool()> condition, Duration timeout) const {
  if (engine.wait(condition, Deadline::after(engine.clock(), timeout))) return {};
  return Status(Code::kTimeout, Scope::kOperation, "what was waited for did not happen");
}

Status run_ranks(const RunOptions& options, const std::function<Status(Communicator&)>& body) {
  return run(options, [&](Start start) {
    const auto rank = static_cast<std::uint64_t>(start.transport->group().rank);
    FakeDevices devices(options.devices, options.seed * 100 + rank);
    const bool lacks_library = start.transport->group().rank == options.rank_without_library;
    if (options.device_library != RunOptions::Library::kNone && !lacks_library)
      devices.use_library(std::make_unique<cuda::NcclGroups>(
          standin_nccl_calls(options.device_library != RunOptions::Library::kNcclWithoutRevoke)));
    Communicator communicator =
        communicator_over(std::move(start.engine), std::move(start.transport),
                          {.algorithm = options.algorithm,
                           .segment_bytes = options.segment_bytes,
                           .determinism = options.determinism,
                           .timeout = options.timeout,
                           .hosts = hosts_of(options),
                           .devices = options.devices > 0 ? &devices : nullptr,
                           .device_slot_bytes = options.device_slot_bytes},
                          std::move(start.backend));
    return body(communicator);
  });
}

Status run_transports(const RunOptions& options, const std::function<Status(RankEnd&)>& body) {
  return run(options, [&](const Start& start) {
    const DrivenTransport driven(*start.engine, *start.transport);
    RankEnd end{.transport = *start.transport, .engine = *start.engine, .network = start.network};
    return body(end);
  });
}

FakeDevices& devices_of(Communicator& world) {
  return dynamic_cast<FakeDevices&>(*world.core()->parts().devices);
}

std::vector<std::uint64_t> seeds(int count) {
  if (const char* fixed = std::getenv("PACELINE_SEED"); fixed != nullptr) {
    return {std::strtoull(fixed, nullptr, 10)};
  }
  std::vector<std::uint64_t> all;
  for (int seed = 1; seed <= samples(count); ++seed)
    all.push_back(static_cast<std::uint64_t>(seed));
  return all;
}

}  // namespace paceline::testing
