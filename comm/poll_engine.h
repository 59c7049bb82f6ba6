// The engine of real processes: polls its drivers, watches descriptors with epoll, and waits in
// three stages: busy within the cores, then yielding, then asleep; the sooner asleep, the more of
// the last waits have been long ones.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "comm/base/cpus.h"
#include "comm/base/epoll.h"
#include "comm/base/process_mark.h"
#include "comm/base/tick_clock.h"
#include "comm/base/unique_fd.h"
#include "comm/doorbell.h"
#include "comm/engine.h"
#include "comm/exit.h"
#include "comm/solo_entry.h"

namespace paceline {

/// Hears that a watched descriptor became readable or writable (edge-triggered: once per change,
/// so whoever hears it reads or writes until EAGAIN, or remembers that there is more).
class FdHandler {
 public:
  /// `events` as epoll gives them. With the baton held. True if anything moved.
  virtual bool on_ready(std::uint32_t events) = 0;

 protected:
  ~FdHandler() = default;
};

class PollEngine final : public Engine, private EndsAtExit {
 public:
  struct Options {
    /// Rounds of polling before the thread yields; 0 where there are more ranks than CPUs, since
    /// a spin then costs the scheduler tick of whom it waits for.
    int spin_rounds = 200;
    /// Rounds between which the thread yields, before it sleeps.
    int yield_rounds = 40;
  };
  /// The stages for `ranks` ranks that have `cpus` between them, by allowed_cpus().
  static Options options_for(int ranks, const CpuSet& cpus = affinity());

  static Result<std::shared_ptr<PollEngine>> create(const Options& options);
  ~PollEngine() override;
  PollEngine(const PollEngine&) = delete;
  PollEngine& operator=(const PollEngine&) = delete;

  const Clock& clock() const override { return clock_; }
  bool wait(FunctionRef<bool()> condition, Deadline deadline) override;
  bool is_stopped() const override { return stopping_.load(); }
  void serve() override;
  void nudge() override;
  void attach(Driver& driver) override;
  void detach(Driver& driver) override;
  void begin_background() override;
  void end_background() override;
  bool is_entered_here() const override;

  /// What a handler hears of. Nobody who only reads wants to hear of room: there always is some, so
  /// whatever came and has been read since would wake a sleeper for it.
  enum class Interest : std::uint8_t { kToRead, kToReadAndWrite };
  /// Watches `fd` until forget(), in any case for the peer's end, too. With the baton held; the
  /// handler is borrowed and must not be destroyed between a watch() and its forget().
  Status watch(int fd, FdHandler& handler, Interest interest = Interest::kToReadAndWrite);
  void forget(int fd, FdHandler& handler);

  /// From now on lies down at `doorbell`, which whoever has something for this process rings; at
  /// none where it is null. In its bed at the bell it looks at descriptors between naps of
  /// kLongestNap. In epoll they wake it, and so must what its ringers write to. The bell is
  /// borrowed. With the baton held.
  void sleep_at(Doorbell* doorbell, Doorbell::Bed bed = Doorbell::Bed::kBell);
  static constexpr Duration kLongestNap = std::chrono::milliseconds(50);
  /// Naps at the bell are no longer than this, for who has descriptors to look at. With the baton
  /// held.
  void nap_at_most(Duration nap) { longest_nap_ = nap; }

 protected:
  void acquire() override;
  void release() override;

 private:
  static constexpr Duration kLongestSleep = std::chrono::seconds(10);

  PollEngine(const Options& options, Epoll epoll, UniqueFd kick);
  static void destroy(PollEngine* engine);
  void stop_at_exit(Deadline deadline) override;
  void join_background();
  void enqueue();
  void queue_up();
  bool wait_holding(FunctionRef<bool()> condition, Deadline deadline, const Options& patience);
  bool lead(FunctionRef<bool()> condition, Deadline deadline, const Options& most);
  bool poll_descriptors(Duration timeout);
  bool take_events(Duration timeout);
  bool sleeps_in_epoll() const { return doorbell_ == nullptr || bed_ == Doorbell::Bed::kEpoll; }
  bool nap(TimePoint now, Deadline deadline);
  void kick();
  Duration sleep_time(TimePoint now, Deadline deadline) const;
  bool sweep_is_due(int round, TimePoint now);
  void note_end_of_wait(int round, Duration last_round, const Options& patience);
  bool relax(int round, TimePoint now, Deadline deadline, const Options& patience);
  void note_length_of_wait(Duration waited, const Options& most);
  bool others_queue() const;
  void take(std::uint32_t ticket);
  void pass_on();
  void let_others_in();
  void park(Deadline deadline);
  void wake_parked();
  void wake_background();
  void background_loop();

  const ProcessMark made_in_;
  const TickClock clock_;
  const Options options_;
  const Epoll epoll_;
  const UniqueFd kick_;  // eventfd: wakes a holder that sleeps

  // The baton is a ticket lock, so that nobody starves. Of those who wait one leads: it holds the
  // baton while it drives, and lets in whoever queues. The others look at their condition and park
  // until something has changed; so whoever queues has not looked yet. A single thread goes in and
  // out without it, but waits with it.
  SoloEntry solo_;
  std::atomic<std::uint32_t> next_ticket_{0};
  std::atomic<std::uint32_t> now_serving_{0};
  std::atomic<bool> holder_sleeps_{false};
  std::atomic<bool> nudged_{false};
  std::mutex doorbell_mutex_;  // guards doorbell_ where the baton does not: who kicks has none
  Doorbell* doorbell_ = nullptr;
  Doorbell::Bed bed_ = Doorbell::Bed::kBell;  // if there is a doorbell
  Duration longest_nap_ = kLongestNap;        // there
  std::mutex park_mutex_;                     // guards generation_
  std::condition_variable parking_;
  std::uint64_t generation_ = 0;  // how often something may have changed

  // Waits of the program's own threads; while there are any, the background thread stays away.
  std::atomic<std::uint32_t> foreground_{0};

  // Guarded by the baton.
  bool led_ = false;
  int crowded_waits_ = 0;  // in a row, each ended by whoever had this CPU meanwhile
  int long_waits_ = 0;     // at descriptors, of late, longer than it makes sense to be busy for
  int parked_ = 0;
  TimePoint sweep_at_ = TimePoint::min();
  std::vector<Driver*> drivers_;
  std::vector<FdHandler*> forgotten_;  // during one poll: handlers that its later events must skip

  // The background thread parks on the signal while it is not wanted.
  std::atomic<std::uint32_t> background_wanted_{0};
  std::atomic<std::uint32_t> background_signal_{0};
  std::atomic<bool> stopping_{false};  // nothing is driven any more
  // Set if a signal handler calls exit() and has interrupted a thread that is entered.
  std::atomic<bool> is_abandoned_{false};
  std::thread background_;

  ExitEntry exit_entry_;
};

}  // namespace paceline
