#include "comm/host_room.h"

#include <cerrno>
#include <new>
#include <string>
#include <utility>

#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "comm/base/assert.h"
#include "comm/base/system_error.h"
#include "comm/base/try.h"

namespace paceline {

std::size_t HostRoom::bytes_for(int places) {
  return static_cast<std::size_t>(places) * sizeof(Place);
}

Result<std::shared_ptr<HostRoom>> HostRoom::enter(std::shared_ptr<PollEngine> engine,
                                                  SegmentPart part, Options options) {
  PACELINE_ASSERT(options.own >= 0 && options.own < options.places);
  const std::size_t room = part.memory().size(), needed = bytes_for(options.places);
  if (room < needed || part.offset % alignof(Place) != 0)
    return Status(Code::kInvalidArgument, Scope::kGroup,
                  "shared memory for " + std::to_string(options.places) +
                      " processes: " + std::to_string(room) + " bytes at " +
                      std::to_string(part.offset) + " do not hold " + std::to_string(needed));
  std::shared_ptr<HostRoom> entered(
      new HostRoom(std::move(engine), std::move(part), std::move(options)));
  PACELINE_TRY(entered->lie_down());
  return entered;
}

HostRoom::HostRoom(std::shared_ptr<PollEngine> engine, SegmentPart part, Options options)
    : engine_(std::move(engine)),
      part_(std::move(part)),
      options_(std::move(options)),
      were_seen_(static_cast<std::size_t>(options_.places)) {
  Place& own = place(options_.own);
  // Who waits for other hosts, too, sleeps often.
  is_registered_ = options_.is_wakeful && !has_kicks() && Doorbell::register_process();
  if (is_registered_) own.doorbell.take_barriers_upon_itself();
  own.pid_namespace.store(self_.pid_namespace, std::memory_order_relaxed);
  own.pid.store(self_.pid, std::memory_order_release);
}

Status HostRoom::lie_down() {
  const Engine::Baton baton = engine_->hold();
  if (has_kicks())
    PACELINE_TRY(engine_->watch(kick_of(own()), *this, PollEngine::Interest::kToRead));
  engine_->sleep_at(&place(own()).doorbell,
                    has_kicks() ? Doorbell::Bed::kEpoll : Doorbell::Bed::kBell);
  return {};
}

HostRoom::~HostRoom() {
  const Engine::Baton baton = engine_->hold();
  engine_->sleep_at(nullptr);
  if (has_kicks()) engine_->forget(kick_of(own()), *this);
}

Result<UniqueFd> HostRoom::make_kick() {
  UniqueFd kick(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!kick)
    return Status(Code::kUnavailable, Scope::kProcess,
                  "cannot make an eventfd: " + error_text(errno));
  return kick;
}

// Whoever has been woken looks at everything.
bool HostRoom::on_ready(std::uint32_t) {
  std::uint64_t kicks = 0;
  return ::read(kick_of(own()), &kicks, sizeof kicks) > 0;
}

HostRoom::Place& HostRoom::place(int index) const {
  PACELINE_ASSERT(index >= 0 && index < options_.places);
  return std::launder(reinterpret_cast<Place*>(part_.memory().data()))[index];
}

Ringer HostRoom::ringer(int index) const {
  return Ringer(place(index).doorbell, has_kicks() ? kick_of(index) : -1);
}

HostRoom::Identity HostRoom::Identity::own() {
  struct stat found {};
  const bool known = ::stat("/proc/self/ns/pid", &found) == 0;
  return {.pid = static_cast<std::uint64_t>(::getpid()), .pid_namespace = known ? found.st_ino : 0};
}

HostRoom::Identity HostRoom::identity(int index) const {
  const std::uint64_t pid = place(index).pid.load(std::memory_order_acquire);
  if (pid == 0) return {};
  return {.pid = pid, .pid_namespace = place(index).pid_namespace.load(std::memory_order_relaxed)};
}

// A process that was never seen may be on its way.
bool HostRoom::has_left(int index) {
  const Identity process = identity(index);
  if (process == self_) return false;
  const auto at = static_cast<std::size_t>(index);
  const bool lives = part_.segment->is_taken_by_another(index);
  if (lives) were_seen_[at] = true;
  return !lives && (were_seen_[at] || process != Identity());
}

}  // namespace paceline
