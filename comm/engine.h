// The engine: everything that waits goes through Engine::wait().
//
// Whoever waits holds the engine's baton and drives it: a blocking call polls on the caller's own
// thread, without a hand-off; while asynchronous operations are outstanding and nobody waits, a
// background thread takes the baton. All state that drivers touch is guarded by the baton.
// Under simulation (comm/simulation.h) wait() hands over to another rank instead.
#pragma once

#include <cstddef>
#include <vector>

#include <paceline/status.h>

#include "comm/base/clock.h"
#include "comm/base/function_ref.h"

namespace paceline {

/// Something that makes progress when it is driven. Called only with the baton held.
class Driver {
 public:
  virtual ~Driver() = default;
  /// Does what can be done without blocking; true if anything moved.
  virtual bool drive(TimePoint now) = 0;
  /// When drive() must be called again at the latest although nothing came in.
  virtual TimePoint wake_at() const { return TimePoint::max(); }
};

/// Drives each at `now`; a driver may attach others and detach itself meanwhile. True if anything
/// moved. For engines.
inline bool drive_each(const std::vector<Driver*>& drivers, TimePoint now) {
  bool moved = false;
  for (std::size_t i = 0; i < drivers.size();) {
    Driver* const driver = drivers[i];
    moved |= driver->drive(now);
    if (i < drivers.size() && drivers[i] == driver) ++i;
  }
  return moved;
}

class Engine {
 public:
  /// Exclusive access to what the drivers guard; released by the destructor. Not re-entrant, and
  /// not to be held across wait().
  class Baton {
   public:
    explicit Baton(Engine* engine) : engine_(engine) {}
    Baton(const Baton&) = delete;
    Baton& operator=(const Baton&) = delete;
    ~Baton() { engine_->release(); }

   private:
    Engine* engine_;
  };

  virtual ~Engine() = default;

  virtual const Clock& clock() const = 0;

  /// Drives until `condition` holds (true) or `deadline` has passed (false). The condition is
  /// evaluated with the baton held. It must not block and must not use the engine. Any thread. When
  /// the process is exiting, nothing is driven and it returns at once (comm/exit.h).
  [[nodiscard]] virtual bool wait(FunctionRef<bool()> condition, Deadline deadline) = 0;

  /// True if the process is exiting. wait() then returns at once, with false if its condition does
  /// not hold, and loops around wait() end with exit_error(). Any thread.
  virtual bool is_stopped() const { return false; }

  /// Drives once and looks at what comes from outside, without waiting. For who does not wait for
  /// long because all that it asks for ends at once: others want its answers meanwhile. With the
  /// baton held, not by a driver.
  virtual void serve() = 0;

  /// Something that a driver looks at by itself has changed: who sleeps while driving looks again.
  /// Any thread, with the baton or without it; takes no lock where nobody sleeps.
  virtual void nudge() = 0;

  /// Takes the baton for a short while, without waiting for anything but its holder.
  [[nodiscard]] Baton hold() {
    acquire();
    return Baton(this);
  }

  /// Drivers are borrowed; attach and detach with the baton held. A driver may attach others and
  /// detach itself while it is driven.
  virtual void attach(Driver& driver) = 0;
  virtual void detach(Driver& driver) = 0;

  /// One more (or one fewer) asynchronous operation wants to be driven although nobody waits.
  /// With the baton held.
  virtual void begin_background() = 0;
  virtual void end_background() = 0;

  /// True if this thread has the baton or waits for it: hold() would then deadlock. Code that may
  /// run in a signal handler asks this first.
  virtual bool is_entered_here() const { return false; }

 protected:
  virtual void acquire() = 0;
  virtual void release() = 0;
};

}  // namespace paceline
