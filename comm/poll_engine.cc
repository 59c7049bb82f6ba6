#include "comm/poll_engine.h"

#include <algorithm>
#include <cerrno>

#include <sched.h>
#include <sys/eventfd.h>

#include "comm/base/assert.h"
#include "comm/base/cpus.h"
#include "comm/base/parent_descriptors.h"
#include "comm/base/system_error.h"
#include "comm/base/try.h"

namespace paceline {
namespace {

// How often the descriptors that no driver polls by itself are looked at while driving: after so
// many rounds, or so much time where a bell says when there is something from the peers.
constexpr int kSweepRounds = 16;
constexpr Duration kSweepTime = std::chrono::milliseconds(1);
constexpr int kMaxEvents = 64;
// A yield to nobody takes less.
constexpr Duration kHandOver = std::chrono::microseconds(3);
constexpr int kCrowdedWaits = 4;
// Who waits for longer sleeps in any case, and might have slept at once.
constexpr Duration kLongWait = std::chrono::microseconds(100);
constexpr int kMostLongWaits = 8;  // as many halve the stages before sleep to nothing

Status engine_error(const char* what) {
  return Status(Code::kExhausted, Scope::kProcess,
                std::string("engine: ") + what + ": " + error_text(errno));
}

// The background thread sleeps at once: whoever computes meanwhile has more use for the core than
// it has for the microseconds that a sleeper's waking takes.
constexpr PollEngine::Options kInBackground{.spin_rounds = 0, .yield_rounds = 0};

void pause() { __builtin_ia32_pause(); }

}  // namespace

PollEngine::Options PollEngine::options_for(int ranks, const CpuSet& cpus) {
  if (ranks <= allowed_cpus(cpus)) return {};
  return {.spin_rounds = 0, .yield_rounds = 20};
}

Result<std::shared_ptr<PollEngine>> PollEngine::create(const Options& options) {
  PACELINE_TRY(prepare_for_exit());
  auto epoll = Epoll::create();
  if (!epoll.ok()) return epoll.status().with_context("engine");
  UniqueFd kick(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!kick) return engine_error("eventfd");
  epoll_event event{.events = EPOLLIN | EPOLLET, .data = {.ptr = nullptr}};
  if (::epoll_ctl(epoll->fd(), EPOLL_CTL_ADD, kick.get(), &event) != 0)
    return engine_error("epoll_ctl");
  return std::shared_ptr<PollEngine>(new PollEngine(options, *std::move(epoll), std::move(kick)),
                                     &PollEngine::destroy);
}

// In a forked child, the last handle does not destroy the engine. The child has no background
// thread to join, and threads that waited at the fork never finish there. The same applies to an
// abandoned engine.
void PollEngine::destroy(PollEngine* engine) {
  if (engine->made_in_.is_of_this_process() && !engine->is_abandoned_.load()) delete engine;
}

PollEngine::PollEngine(const Options& options, Epoll epoll, UniqueFd kick)
    : options_(options), epoll_(std::move(epoll)), kick_(std::move(kick)) {
  exit_entry_.enter(*this);
}

PollEngine::~PollEngine() {
  exit_entry_.leave();
  PACELINE_ASSERT(drivers_.empty());
  join_background();
}

void PollEngine::join_background() {
  stopping_.store(true);
  if (!background_.joinable()) return;
  wake_background();
  background_.join();
}

// If a signal handler calls exit() and has interrupted the thread that has the baton or waits for
// it, the engine is abandoned: nothing is driven, and none of its threads can be joined.
void PollEngine::stop_at_exit(Deadline) {
  stopping_.store(true);
  if (is_entered_here()) return is_abandoned_.store(true);
  { const Baton baton = hold(); }  // the thread that drives has ended its round
  join_background();
}

bool PollEngine::wait(FunctionRef<bool()> condition, Deadline deadline) {
  foreground_.fetch_add(1);
  bool held = false;
  {
    enqueue();
    const Baton baton(this);
    held = wait_holding(condition, deadline, options_);
  }
  if (foreground_.fetch_sub(1) == 1 && background_wanted_.load() > 0) wake_background();
  return held;
}

bool PollEngine::wait_holding(FunctionRef<bool()> condition, Deadline deadline,
                              const Options& patience) {
  while (true) {
    if (!led_) {
      led_ = true;
      const bool held = lead(condition, deadline, patience);
      led_ = false;
      return held;
    }
    if (condition()) return true;
    if (stopping_.load() || deadline.passed(clock_.now())) return false;
    park(deadline);
  }
}

bool PollEngine::lead(FunctionRef<bool()> condition, Deadline deadline, const Options& most) {
  int round = 0;
  TimePoint last = TimePoint::max(), idle_since{};
  while (true) {
    if (condition()) return true;
    if (stopping_.load()) return false;
    const Options patience{.spin_rounds = most.spin_rounds >> long_waits_,
                           .yield_rounds = most.yield_rounds >> long_waits_};
    const TimePoint now = clock_.now();
    bool moved = drive_each(drivers_, now);
    if (!moved && sweep_is_due(round, now)) moved = poll_descriptors({});
    if (moved) note_end_of_wait(round, now - last, patience);
    if (moved && round > 0) note_length_of_wait(now - idle_since, most);
    last = now;
    if (deadline.passed(now)) return condition();
    if (!moved) {
      if (round == 0) idle_since = now;
      moved = relax(round, now, deadline, patience);
      if (moved) note_length_of_wait(clock_.now() - idle_since, most);
    }
    round = moved ? 0 : round + 1;
    if (moved) wake_parked();
    if (others_queue()) let_others_in();
  }
}

bool PollEngine::sweep_is_due(int round, TimePoint now) {
  if (sleeps_in_epoll()) return round % kSweepRounds == kSweepRounds - 1;
  if (now < sweep_at_) return false;
  sweep_at_ = now + kSweepTime;
  return true;
}

// Two ranks on one CPU hand it to each other with every yield, and the scheduler may leave them
// there for long although another CPU is idle. Whoever notices first goes away.
void PollEngine::note_end_of_wait(int round, Duration last_round, const Options& patience) {
  if (patience.spin_rounds == 0) return;
  const bool handed_over = round > patience.spin_rounds && last_round > kHandOver;
  crowded_waits_ = handed_over ? crowded_waits_ + 1 : 0;
  if (crowded_waits_ < kCrowdedWaits) return;
  crowded_waits_ = 0;
  leave_cpu();
}

// Passes the time between two rounds in which nothing moved; true if something did meanwhile.
bool PollEngine::relax(int round, TimePoint now, Deadline deadline, const Options& patience) {
  if (round < patience.spin_rounds) {
    pause();
    return false;
  }
  if (round < patience.spin_rounds + patience.yield_rounds) {
    ::sched_yield();
    return false;
  }
  return doorbell_ != nullptr ? nap(now, deadline) : poll_descriptors(sleep_time(now, deadline));
}

// A slow network has something to do every few hundred microseconds: to be busy until it sleeps
// took a rank about as much CPU time as everything else did. Ranks that share memory wait for each
// other, and hand their CPUs on by yields: where they slept at once an all-reduce of 16 MiB took 8
// of them on 2 CPUs 2.7 times as long. Who sleeps at once in any case, as the background thread
// does, says nothing about the waits of others.
void PollEngine::note_length_of_wait(Duration waited, const Options& most) {
  if (!sleeps_in_epoll() || (most.spin_rounds == 0 && most.yield_rounds == 0)) return;
  long_waits_ = waited > kLongWait ? std::min(long_waits_ + 1, kMostLongWaits) : long_waits_ / 2;
}

Duration PollEngine::sleep_time(TimePoint now, Deadline deadline) const {
  TimePoint wake = deadline.moment();
  for (const Driver* driver : drivers_) wake = std::min(wake, driver->wake_at());
  return std::clamp<Duration>(wake > now ? wake - now : Duration::zero(), {}, kLongestSleep);
}

bool PollEngine::poll_descriptors(Duration timeout) {
  if (timeout == Duration::zero()) return take_events(timeout);
  holder_sleeps_.store(true);
  // Whoever came before the store did not know that it had to kick.
  if (others_queue() || nudged_.exchange(false)) timeout = {};
  return take_events(timeout);
}

bool PollEngine::take_events(Duration timeout) {
  epoll_event events[kMaxEvents];
  const std::span<const epoll_event> ready = epoll_.wait(events, timeout);
  holder_sleeps_.store(false);
  forgotten_.clear();
  bool moved = false;
  for (const epoll_event& event : ready) {
    auto* handler = static_cast<FdHandler*>(event.data.ptr);
    if (handler == nullptr) {
      std::uint64_t kicks = 0;
      moved |= ::read(kick_.get(), &kicks, sizeof kicks) > 0;
    } else if (std::find(forgotten_.begin(), forgotten_.end(), handler) == forgotten_.end()) {
      moved |= handler->on_ready(event.events);
    }
  }
  return moved;
}

// What came before the bell was known to be needed is found by driving once more; who queues up
// from then on kicks.
bool PollEngine::nap(TimePoint now, Deadline deadline) {
  holder_sleeps_.store(true);
  doorbell_->lie_down(bed_);
  bool moved = others_queue() || nudged_.exchange(false) || drive_each(drivers_, now);
  if (!moved && bed_ == Doorbell::Bed::kEpoll)
    moved = take_events(sleep_time(now, deadline));
  else if (!moved)
    doorbell_->sleep(std::min(sleep_time(now, deadline), longest_nap_));
  doorbell_->rise();
  holder_sleeps_.store(false);
  return moved;
}

void PollEngine::sleep_at(Doorbell* doorbell, Doorbell::Bed bed) {
  const std::lock_guard lock(doorbell_mutex_);
  doorbell_ = doorbell;
  bed_ = bed;
  long_waits_ = 0;
}

void PollEngine::kick() {
  const std::uint64_t one = 1;
  (void)!::write(kick_.get(), &one, sizeof one);
  const std::lock_guard lock(doorbell_mutex_);
  if (!sleeps_in_epoll()) Ringer(*doorbell_).ring();
}

void PollEngine::serve() {
  if (stopping_.load()) return;
  drive_each(drivers_, clock_.now());
  poll_descriptors({});
}

void PollEngine::attach(Driver& driver) { drivers_.push_back(&driver); }

void PollEngine::detach(Driver& driver) { std::erase(drivers_, &driver); }

Status PollEngine::watch(int fd, FdHandler& handler, Interest interest) {
  epoll_event event{.events = EPOLLIN | EPOLLRDHUP | EPOLLET, .data = {.ptr = &handler}};
  if (interest == Interest::kToReadAndWrite) event.events |= EPOLLOUT;
  if (::epoll_ctl(epoll_.fd(), EPOLL_CTL_ADD, fd, &event) != 0) return engine_error("epoll_ctl");
  keep_from_children(fd);
  return {};
}

void PollEngine::forget(int fd, FdHandler& handler) {
  leave_to_children(fd);
  ::epoll_ctl(epoll_.fd(), EPOLL_CTL_DEL, fd, nullptr);
  forgotten_.push_back(&handler);
}

void PollEngine::begin_background() {
  // When the engine is stopping, the thread that calls exit() joins the background thread, so no
  // new one may start.
  if (!stopping_.load() && !background_.joinable())
    background_ = std::thread([this] { background_loop(); });
  if (background_wanted_.fetch_add(1) == 0) wake_background();
}

void PollEngine::end_background() { background_wanted_.fetch_sub(1); }

void PollEngine::wake_background() {
  background_signal_.fetch_add(1);
  background_signal_.notify_all();
}

void PollEngine::background_loop() {
  while (true) {
    // Read before everything that a signal announces, which includes stopping_.
    const std::uint32_t signal = background_signal_.load();
    if (stopping_.load()) return;
    const auto unwanted = [this] {
      return background_wanted_.load() == 0 || foreground_.load() > 0 || stopping_.load();
    };
    if (unwanted()) {
      background_signal_.wait(signal);
      continue;
    }
    enqueue();
    const Baton baton(this);
    (void)wait_holding(unwanted, Deadline::after(clock_, kLongestSleep), kInBackground);
  }
}

}  // namespace paceline
