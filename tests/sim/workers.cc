#include "tests/sim/workers.h"

#include <cstdio>
#include <new>
#include <utility>
#include <vector>

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comm/base/assert.h"

namespace paceline::testing {
namespace {

// In memory that all workers share.
struct Shared {
  Counters counters{};
  std::array<std::atomic<std::uint64_t>, kMostWorkers> current{};  // the item a worker is in
};

bool serve(const WorkerOptions& options, std::uint64_t worker, Shared& shared,
           FunctionRef<bool(std::uint64_t, Counters&)> item) {
  int failures = 0;
  const auto stride = static_cast<std::uint64_t>(options.workers);
  for (std::uint64_t i = worker; i < options.items; i += stride) {
    shared.current[worker] = i;
    if (!item(i, shared.counters) && ++failures >= options.most_failures) break;
  }
  return failures == 0;
}

pid_t start(const WorkerOptions& options, std::uint64_t worker, Shared& shared,
            FunctionRef<bool(std::uint64_t, Counters&)> item) {
  const pid_t parent = ::getpid();
  std::fflush(nullptr);
  const pid_t pid = ::fork();
  PACELINE_ASSERT(pid >= 0);
  if (pid != 0) return pid;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  const bool good = serve(options, worker, shared, item);
  std::fflush(nullptr);
  ::_exit(good ? 0 : 1);
}

bool run_processes(const WorkerOptions& options, Shared& shared,
                   FunctionRef<bool(std::uint64_t, Counters&)> item) {
  std::vector<pid_t> pids;
  for (std::uint64_t worker = 0; std::cmp_less(worker, options.workers); ++worker) {
    pids.push_back(start(options, worker, shared, item));
  }
  bool good = true;
  for (std::size_t worker = 0; worker < pids.size(); ++worker) {
    int status = 0;
    PACELINE_ASSERT(::waitpid(pids[worker], &status, 0) == pids[worker]);
    good = good && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) <= 1) continue;
    std::printf("worker %zu ended with wait status %d in item %llu\n", worker, status,
                static_cast<unsigned long long>(shared.current[worker].load()));
  }
  return good;
}

}  // namespace

bool run_workers(const WorkerOptions& options, Counters& counters,
                 FunctionRef<bool(std::uint64_t, Counters&)> item) {
  PACELINE_ASSERT(options.workers >= 1 && options.workers <= kMostWorkers);
  void* memory =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  PACELINE_ASSERT(memory != MAP_FAILED);
  auto* shared = new (memory) Shared;
  const bool good = options.workers == 1 ? serve(options, 0, *shared, item)
                                         : run_processes(options, *shared, item);
  for (std::size_t i = 0; i < counters.size(); ++i) counters[i] += shared->counters[i];
  ::munmap(memory, sizeof(Shared));
  return good;
}

}  // namespace paceline::testing
