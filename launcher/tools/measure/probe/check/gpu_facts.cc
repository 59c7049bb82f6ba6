#include "launcher/tools/measure/probe/check/gpu_facts.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <map>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace paceline::probe {
namespace {

using topology::GpuHealth;
using topology::GpuHealthReport;

// Bits of nvml.h, "clocks throttle reasons": hardware slowdown, heat by the driver's and by the
// hardware's measure, and the hardware's brake of power. The others are usual under load or by a
// setting.
constexpr std::uint64_t kHarmfulLimits = 0x8 | 0x20 | 0x40 | 0x80;
constexpr int kSecondLookMs = 500;
// A process that has told everything, or is killed, ends at once.
constexpr Duration kEndTime = std::chrono::milliseconds(100);

// A list of a few GPUs; ".." stands for more.
void add(const std::string& word, std::string& list) {
  constexpr std::size_t kLong = 60;
  if (list.ends_with("..")) return;
  list.append(list.empty() ? "" : ",").append(list.size() < kLong ? word : "..");
}

bool is_narrow(const GpuHealth& gpu) {
  return gpu.pcie_lanes && gpu.most_pcie_lanes && *gpu.pcie_lanes < *gpu.most_pcie_lanes;
}

std::uint64_t harmful_limits(const GpuHealth& gpu) {
  return gpu.clock_limits.value_or(0) & kHarmfulLimits;
}

bool may_pass(const GpuHealth& gpu) { return harmful_limits(gpu) != 0 || is_narrow(gpu); }

// Both ends close on exec.
struct Pipe {
  UniqueFd reads, writes;
};
Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  return {.reads = UniqueFd(ends[0]), .writes = UniqueFd(ends[1])};
}

// A process that hangs must not hold what it has inherited: its reader waits for the end.
void close_all_but(int file) {
  if (file > 0) ::syscall(SYS_close_range, 0U, static_cast<unsigned>(file) - 1, 0U);
  ::syscall(SYS_close_range, static_cast<unsigned>(file) + 1, ~0U, 0U);
}

[[noreturn]] void tell_and_exit(int to, pid_t parent, const std::string& library) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  close_all_but(to);
  GpuHealthReport report = topology::read_gpu_health(library);
  if (std::ranges::any_of(report.gpus, may_pass)) {
    ::poll(nullptr, 0, kSecondLookMs);
    report = confirmed(report, topology::read_gpu_health(library));
  }
  HostFacts facts;
  add_gpus(report, facts);
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

// Nothing: `deadline` has passed before the end.
std::optional<std::string> read_to_end(int from, const Clock& clock, const Deadline& deadline) {
  std::string text;
  while (wait_readable(from, clock, deadline)) {
    std::array<char, 4096> part;
    const ssize_t got = ::read(from, part.data(), part.size());
    if (got == 0) return text;
    if (got < 0 && errno != EINTR) return text;
    if (got > 0) text.append(part.data(), static_cast<std::size_t>(got));
  }
  return std::nullopt;
}

}  // namespace

void add_gpus(const GpuHealthReport& report, HostFacts& into) {
  // Hosts without a GPU may have the library, but no driver.
  if (report.error != 0 && report.error != topology::NvmlLibrary::kNoDriver)
    into.gpu_error = std::to_string(report.error);
  std::map<std::string, int> models;
  for (const GpuHealth& gpu : report.gpus) {
    const std::string number = std::to_string(gpu.number);
    if (gpu.is_lost) {
      add(number, into.lost_gpus);
      continue;
    }
    ++into.gpus;
    ++models[gpu.name];
    into.nvlinks += static_cast<int>(gpu.nvlinks);
    into.gpu_clock_limits |= harmful_limits(gpu);
    if (harmful_limits(gpu) != 0) add(number, into.limited_gpus);
    into.gpu_memory_errors += gpu.uncorrected_errors.value_or(0);
    if (gpu.uncorrected_errors.value_or(0) > 0) add(number, into.gpus_with_errors);
    if (is_narrow(gpu))
      add(number + ":x" + std::to_string(*gpu.pcie_lanes) + "/x" +
              std::to_string(*gpu.most_pcie_lanes),
          into.narrow_gpus);
  }
  for (const auto& [name, count] : models) add(std::to_string(count) + "x" + name, into.gpu_models);
}

GpuHealthReport confirmed(const GpuHealthReport& first, const GpuHealthReport& second) {
  GpuHealthReport both = second;
  for (GpuHealth& gpu : both.gpus) {
    const auto before = std::ranges::find(first.gpus, gpu.number, &GpuHealth::number);
    if (before == first.gpus.end()) continue;
    if (gpu.clock_limits) *gpu.clock_limits &= before->clock_limits.value_or(0);
    if (gpu.pcie_lanes) gpu.pcie_lanes = std::max(gpu.pcie_lanes, before->pcie_lanes);
  }
  return both;
}

GpuReader::GpuReader(const std::string& library) {
  const pid_t parent = ::getpid();
  Pipe pipe = make_pipe();
  if (!pipe.reads) return;
  process_ = ::fork();
  if (process_ == 0) tell_and_exit(pipe.writes.get(), parent, library);
  if (process_ > 0) answer_ = std::move(pipe.reads);
}

GpuReader::~GpuReader() {
  if (process_ <= 0) return;
  ::kill(process_, SIGKILL);
  end(SystemClock());
}

HostFacts GpuReader::answer(const Clock& clock, Duration patience) {
  HostFacts facts;
  if (!answer_) return facts;
  const std::optional<std::string> text =
      read_to_end(answer_.get(), clock, Deadline::after(clock, patience));
  answer_.reset();
  if (!text) ::kill(process_, SIGKILL);
  end(clock);
  if (!text)
    facts.gpu_error = "no_answer";
  else if (text->empty() || !exited_with_success_)
    facts.gpu_error = "crash";
  else
    facts = parse_host_facts(*text);
  return facts;
}

// One that the driver holds cannot end, and is left.
void GpuReader::end(const Clock& clock) {
  const UniqueFd ended(static_cast<int>(::syscall(SYS_pidfd_open, process_, 0)));
  int status = -1;
  const bool is_over =
      !ended || wait_readable(ended.get(), clock, Deadline::after(clock, kEndTime));
  if (is_over && ::waitpid(process_, &status, WNOHANG) == process_)
    exited_with_success_ = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  process_ = -1;
}

}  // namespace paceline::probe
