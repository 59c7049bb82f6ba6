#include "launcher/tools/measure/probe/check/gpu_facts.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <map>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comm/base/unique_fd.h"

namespace paceline::probe {
namespace {

// Bits of nvml.h, "clocks throttle reasons": hardware slowdown, heat by the driver's and by the
// hardware's measure, and the hardware's brake of power. The others are usual under load or by a
// setting.
constexpr std::uint64_t kHarmfulLimits = 0x8 | 0x20 | 0x40 | 0x80;

// For a process that has told everything, or is killed.
constexpr Duration kEndTime = std::chrono::milliseconds(100);

// Of a few GPUs; ".." stands for more.
void add(const std::string& word, std::string& list) {
  constexpr std::size_t kLong = 60;
  if (list.ends_with("..")) return;
  list.append(list.empty() ? "" : ",").append(list.size() < kLong ? word : "..");
}

// Both ends close on exec.
struct Pipe {
  UniqueFd reads, writes;
};
Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  return {.reads = UniqueFd(ends[0]), .writes = UniqueFd(ends[1])};
}

[[noreturn]] void tell_and_exit(int to, pid_t parent, const std::string& library) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  HostFacts facts;
  if (const auto gpus = topology::read_gpu_health(library); gpus.ok()) add_gpus(*gpus, facts);
  const std::string text = to_text(facts);
  ::_exit(::write(to, text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1);
}

// False: `deadline` has passed.
bool wait_readable(int file, const Clock& clock, const Deadline& deadline) {
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline.moment() - clock.now());
    if (left.count() < 0) return false;
    pollfd ready{.fd = file, .events = POLLIN, .revents = 0};
    const int count = ::poll(&ready, 1, static_cast<int>(left.count()) + 1);
    if (count != 0 && (count > 0 || errno != EINTR)) return count > 0;
  }
}

// Until its end, or until `deadline`: then false.
bool read_to_end(int from, const Clock& clock, const Deadline& deadline, std::string& into) {
  while (wait_readable(from, clock, deadline)) {
    std::array<char, 4096> part;
    const ssize_t got = ::read(from, part.data(), part.size());
    if (got == 0) return true;
    if (got < 0 && errno != EINTR) return false;
    if (got > 0) into.append(part.data(), static_cast<std::size_t>(got));
  }
  return false;
}

}  // namespace

void add_gpus(std::span<const topology::GpuHealth> gpus, HostFacts& into) {
  into.gpus = static_cast<int>(gpus.size());
  std::map<std::string, int> models;
  for (const topology::GpuHealth& gpu : gpus) {
    ++models[gpu.name];
    into.nvlinks += static_cast<int>(gpu.nvlinks);
    const std::uint64_t limits = gpu.clock_limits.value_or(0) & kHarmfulLimits;
    into.gpu_clock_limits |= limits;
    const std::string number = std::to_string(gpu.number);
    if (limits != 0) add(number, into.limited_gpus);
    into.gpu_memory_errors += gpu.uncorrected_errors.value_or(0);
    if (gpu.uncorrected_errors.value_or(0) > 0) add(number, into.gpus_with_errors);
    if (gpu.pcie_lanes && gpu.most_pcie_lanes && *gpu.pcie_lanes < *gpu.most_pcie_lanes)
      add(number + ":x" + std::to_string(*gpu.pcie_lanes) + "/x" +
              std::to_string(*gpu.most_pcie_lanes),
          into.narrow_gpus);
  }
  for (const auto& [name, count] : models) add(std::to_string(count) + "x" + name, into.gpu_models);
}

HostFacts read_gpu_facts(const Clock& clock, Duration patience, const std::string& library) {
  HostFacts facts;
  const Deadline deadline = Deadline::after(clock, patience);
  const pid_t parent = ::getpid();
  Pipe pipe = make_pipe();
  if (!pipe.reads) return facts;
  const pid_t child = ::fork();
  if (child < 0) return facts;
  if (child == 0) tell_and_exit(pipe.writes.get(), parent, library);
  pipe.writes.reset();
  std::string text;
  if (read_to_end(pipe.reads.get(), clock, deadline, text)) {
    facts = parse_host_facts(text);
  } else {
    facts.gpu_error = "no_answer";
    ::kill(child, SIGKILL);
  }
  // One that the driver holds cannot end.
  const UniqueFd end(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  int status = 0;
  if (end && wait_readable(end.get(), clock, Deadline::after(clock, kEndTime)))
    ::waitpid(child, &status, 0);
  if (facts.gpu_error.empty() && !(WIFEXITED(status) && WEXITSTATUS(status) == 0))
    facts.gpu_error = "crash";
  return facts;
}

}  // namespace paceline::probe
