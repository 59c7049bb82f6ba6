#include "telemetry/step_ledger.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "comm/base/environment.h"
#include "comm/base/tick_clock.h"
#include "comm/base/try.h"
#include "telemetry/sealed_memory.h"

namespace paceline {
namespace {

// steps, samples, flop, begin, end, and the parts
constexpr std::size_t kSteps = 0, kSamples = 1, kFlop = 2, kBegin = 3, kEnd = 4, kFirstPart = 5;
constexpr std::size_t kWords = kFirstPart + kStepParts;
constexpr std::uint64_t kLedgerMagic = 0x337264674C705453;  // "STpLgdr3"
constexpr int kTries = 1000;                                // of a reader that the writer overtakes

const Clock& machine_clock() {
  static const TickClock clock;
  return clock;
}

std::int64_t count(TimePoint time) { return time.time_since_epoch().count(); }

double milliseconds(std::chrono::nanoseconds time) {
  return static_cast<double>(time.count()) / 1e6;
}

const void* this_thread() {
  static thread_local const char here = 0;
  return &here;
}

}  // namespace

// Two copies of the words, written in turn: a reader takes the last one that is whole, though the
// writer may be anywhere in the other, preempted or dead. `version` counts the copies; it tells a
// reader that the writer has come round (a sequence lock, Boehm, MSPC 2012).
struct StepLedger::Layout {
  std::uint64_t magic;
  std::uint64_t bytes;
  alignas(64) std::atomic<std::uint32_t> version;
  std::atomic<std::uint64_t> copies[2][kWords];
  alignas(64) std::atomic<std::int64_t> exposed_ns;
  std::atomic<std::int64_t> exposed_until_ns;
  std::atomic<std::int32_t> thread;
  std::atomic<std::int32_t> writer;  // process; 0: none yet
  std::atomic<bool> has_ended_step, repeats_input;
};

Result<UniqueFd> StepLedger::create_memory() {
  return create_sealed_memory({"step ledger", kLedgerMagic, sizeof(Layout)});
}

Result<std::unique_ptr<StepLedger>> StepLedger::open(int fd) {
  PACELINE_TRY_ASSIGN(void* const memory,
                      map_sealed_memory(fd, {"step ledger", kLedgerMagic, sizeof(Layout)}));
  return std::unique_ptr<StepLedger>(new StepLedger(static_cast<Layout*>(memory), true));
}

std::unique_ptr<StepLedger> StepLedger::create_private() {
  return std::unique_ptr<StepLedger>(new StepLedger(new Layout{}, false));
}

// Programs that the rank starts later do not inherit the memory.
StepLedger& StepLedger::of_process() {
  static StepLedger* const ledger = [] {
    const Result<Environment> read = read_environment();
    const Environment environment = read.ok() ? *read : Environment();
    std::unique_ptr<StepLedger> made;
    if (environment.ledger_fd) {
      if (auto opened = open(*environment.ledger_fd); opened.ok() && (*opened)->claim()) {
        ::fcntl(*environment.ledger_fd, F_SETFD, FD_CLOEXEC);
        made = *std::move(opened);
      }
    }
    if (made == nullptr) made = create_private();
    if (environment.ablation.input) made->ablate_input();
    return made.release();
  }();
  return *ledger;
}

// One process of a rank writes. After its end another one may: it begins anew.
bool StepLedger::claim() {
  std::int32_t writer = layout_->writer.load(std::memory_order_relaxed);
  const bool is_alive = writer != 0 && (::kill(writer, 0) == 0 || errno != ESRCH);
  return !is_alive && layout_->writer.compare_exchange_strong(writer, ::getpid());
}

StepLedger::~StepLedger() {
  if (is_shared_)
    ::munmap(layout_, sizeof(Layout));
  else
    delete layout_;
}

// ---- Marks ---------------------------------------------------------------------------------

bool StepLedger::may_mark() {
  if (!made_in_.is_of_this_process()) return false;
  const void* marking = marking_thread_.load(std::memory_order_relaxed);
  if (marking == this_thread()) return true;
  if (marking != nullptr || !marking_thread_.compare_exchange_strong(marking, this_thread()))
    return false;
  layout_->thread.store(::gettid(), std::memory_order_relaxed);
  return true;
}

bool StepLedger::counts_here() const {
  const void* const marking = marking_thread_.load(std::memory_order_relaxed);
  return marking == nullptr || marking == this_thread();
}

void StepLedger::begin_account(TimePoint now) {
  begin_ = charged_until_ = now;
  exposed_before_ns_ = layout_->exposed_ns.load(std::memory_order_relaxed);
  phase_ = Phase::kInStep;
}

void StepLedger::begin_step(TimePoint now) {
  if (!may_mark()) return;
  if (phase_ == Phase::kBefore) return begin_account(now);
  charge(phase_ == Phase::kBetween ? StepPart::kOther : part_, now);
  phase_ = Phase::kInStep;
}

void StepLedger::end_step(TimePoint now, std::uint64_t samples, double flop) {
  if (!may_mark()) return;
  layout_->has_ended_step.store(true, std::memory_order_relaxed);
  if (phase_ == Phase::kBefore) return begin_account(now);
  charge(part_, now);
  phase_ = Phase::kBetween;
  ++totals_.steps;
  totals_.samples += samples;
  if (std::isfinite(flop) && flop > 0) totals_.flop += flop;
  publish();
}

StepPart StepLedger::enter_part(StepPart part, TimePoint now) {
  if (!may_mark()) return part;
  if (phase_ != Phase::kBefore) charge(part_, now);
  return std::exchange(part_, part == StepPart::kCommunication ? StepPart::kCompute : part);
}

bool StepLedger::input_is_repeated() {
  if (!ablates_input_ || !layout_->has_ended_step.load(std::memory_order_relaxed)) return false;
  layout_->repeats_input.store(true, std::memory_order_relaxed);
  return true;
}

void StepLedger::charge(StepPart part, TimePoint now) {
  const Duration elapsed = std::max(now - charged_until_, Duration::zero());
  const std::int64_t exposed_ns = layout_->exposed_ns.load(std::memory_order_relaxed);
  const Duration exposed =
      std::clamp(Duration(exposed_ns - exposed_before_ns_), Duration::zero(), elapsed);
  totals_.parts[static_cast<std::size_t>(StepPart::kCommunication)] += exposed;
  totals_.parts[static_cast<std::size_t>(part)] += elapsed - exposed;
  charged_until_ = std::max(now, charged_until_);
  exposed_before_ns_ = exposed_ns;
}

void StepLedger::publish() {
  const std::uint32_t next = layout_->version.load(std::memory_order_relaxed) + 1;
  auto& words = layout_->copies[next % 2];
  const auto put = [&words](std::size_t i, auto value) {
    words[i].store(static_cast<std::uint64_t>(value), std::memory_order_release);
  };
  put(kSteps, totals_.steps);
  put(kSamples, totals_.samples);
  put(kFlop, std::bit_cast<std::uint64_t>(totals_.flop));
  put(kBegin, count(begin_));
  put(kEnd, count(charged_until_));
  for (std::size_t i = 0; i < kStepParts; ++i) put(kFirstPart + i, totals_.parts[i].count());
  layout_->version.store(next, std::memory_order_release);
}

// ---- Exposed communication -----------------------------------------------------------------

// Threads whose waits overlap count once: only what lies after all waits that were added before.
Duration StepLedger::add_exposed(TimePoint from, TimePoint to) {
  const std::int64_t end = count(to);
  std::int64_t until = layout_->exposed_until_ns.load(std::memory_order_relaxed);
  do {
    if (end <= until) return {};
  } while (!layout_->exposed_until_ns.compare_exchange_weak(until, end, std::memory_order_relaxed));
  const std::int64_t added = end - std::max(count(from), until);
  if (added <= 0) return {};
  layout_->exposed_ns.fetch_add(added, std::memory_order_relaxed);
  return Duration(added);
}

// ---- The reader ----------------------------------------------------------------------------

LedgerReading StepLedger::read() const {
  std::array<std::uint64_t, kWords> words;
  for (int i = 0; i < kTries; ++i) {
    const std::uint32_t before = layout_->version.load(std::memory_order_acquire);
    const auto& copy = layout_->copies[before % 2];
    for (std::size_t w = 0; w < kWords; ++w) words[w] = copy[w].load(std::memory_order_acquire);
    if (layout_->version.load(std::memory_order_relaxed) == before) break;
  }
  const auto time = [&words](std::size_t i) { return static_cast<std::int64_t>(words[i]); };
  LedgerReading reading{.begin_ns = time(kBegin),
                        .end_ns = time(kEnd),
                        .exposed_ns = layout_->exposed_ns.load(std::memory_order_relaxed),
                        .thread = layout_->thread.load(std::memory_order_relaxed),
                        .repeats_input = layout_->repeats_input.load(std::memory_order_relaxed)};
  reading.totals = {.steps = words[kSteps],
                    .samples = words[kSamples],
                    .flop = std::bit_cast<double>(words[kFlop]),
                    .wall = Duration(time(kEnd) - time(kBegin))};
  for (std::size_t i = 0; i < kStepParts; ++i)
    reading.totals.parts[i] = Duration(time(kFirstPart + i));
  return reading;
}

// ---- The interface of programs -------------------------------------------------------------

std::string_view name(StepPart part) {
  switch (part) {
    case StepPart::kCompute:
      return "compute";
    case StepPart::kCommunication:
      return "communication";
    case StepPart::kInput:
      return "input";
    case StepPart::kOther:
      return "other";
  }
  return "unknown part";
}

double StepTotals::scaling_efficiency_estimate() const {
  return wall.count() > 0 ? static_cast<double>(part(StepPart::kCompute).count()) /
                                static_cast<double>(wall.count())
                          : 0.0;
}

std::string StepTotals::to_string() const {
  const double count = steps > 0 ? static_cast<double>(steps) : 1.0;
  char text[256];
  std::snprintf(text, sizeof text, "step %.3f ms =", milliseconds(wall) / count);
  std::string line = text;
  for (std::size_t i = 0; i < kStepParts; ++i) {
    line.append(i == 0 ? " " : " + ").append(name(static_cast<StepPart>(i)));
    std::snprintf(text, sizeof text, " %.3f", milliseconds(parts[i]) / count);
    line += text;
  }
  std::snprintf(text, sizeof text,
                "\nscaling efficiency %.0f %% (estimate: compute / step time, no one-rank run)",
                100.0 * scaling_efficiency_estimate());
  return line + text;
}

void begin_step() { StepLedger::of_process().begin_step(machine_clock().now()); }

void end_step(std::uint64_t samples, double flop) {
  StepLedger::of_process().end_step(machine_clock().now(), samples, flop);
}

StepPart enter_part(StepPart part) {
  return StepLedger::of_process().enter_part(part, machine_clock().now());
}

// Without --ablate, a loader that was forked before the first mark does not become the writer.
bool input_is_repeated() {
  static const bool may_be = [] {
    const Result<Environment> read = read_environment();
    return read.ok() && read->ablation.input;
  }();
  return may_be && StepLedger::of_process().input_is_repeated();
}

StepTotals step_totals() { return StepLedger::of_process().read().totals; }

}  // namespace paceline
