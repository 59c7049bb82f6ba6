// Runs in the agent.
#include "launcher/agent/fault_service.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include <fcntl.h>
#include <signal.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "launcher/system/system.h"

namespace paceline::launcher {
namespace {

constexpr Duration kLook = std::chrono::milliseconds(1);
// A slowed rank runs for its share of this, and is stopped for the rest.
constexpr Duration kSlice = std::chrono::milliseconds(20);

}  // namespace

FaultService::~FaultService() {
  for (const EventLoop::TimerId timer : timers_) loop_.cancel(timer);
}

Status FaultService::prepare(const messages::Start& start) {
  ranks_ = {start.ranks().begin(), start.ranks().end()};
  std::ranges::copy_if(start.faults(), std::back_inserter(faults_),
                       [&](const auto& fault) { return fault.restart() == start.epoch(); });
  return {};
}

void FaultService::started(const messages::RankStarted& rank) {
  if (faults_.empty()) return;
  running_[rank.rank()] = open_pidfd(static_cast<pid_t>(rank.pid()));
  if (++started_ == ranks_.size()) begin();
}

// The helper has reaped it: its number may be another process's by now, but its pidfd is not.
void FaultService::ended(const messages::ProcessExited& exited, messages::RankExited&) {
  running_.erase(exited.rank());
}

Status FaultService::equip(int local_rank, RankEquipment&) {
  hold(ranks_[static_cast<std::size_t>(local_rank)]);
  return {};
}

// The rank waits at the first operation at which something is to happen.
void FaultService::hold(std::uint32_t rank) {
  std::optional<std::uint64_t> first;
  for (const messages::Fault& fault : faults_)
    if (fault.has_operation() && fault.watched_rank() == rank)
      first = std::min(first.value_or(fault.operation()), fault.operation());
  options_.flights->hold_at(static_cast<int>(rank), first);
}

void FaultService::begin() {
  for (const messages::Fault& fault : take([](const auto& one) { return !one.has_operation(); }))
    after(Duration(fault.after_ns()), [this, fault] { strike(fault); });
  look_at_operations();
}

std::vector<messages::Fault> FaultService::take(
    const std::function<bool(const messages::Fault&)>& is_due) {
  std::vector<messages::Fault> due;
  std::erase_if(faults_, [&](const messages::Fault& fault) {
    if (!is_due(fault)) return false;
    due.push_back(fault);
    return true;
  });
  return due;
}

void FaultService::look_at_operations() {
  const auto due = take([this](const messages::Fault& fault) {
    const auto last = options_.flights->last_begun(static_cast<int>(fault.watched_rank()));
    return last && *last >= fault.operation();
  });
  for (const messages::Fault& fault : due) {
    strike(fault);
    hold(fault.watched_rank());
  }
  if (!faults_.empty()) after(kLook, [this] { look_at_operations(); });
}

void FaultService::strike(const messages::Fault& fault) {
  if (fault.kind() == messages::Fault::FILL) return fill(fault);
  if (!fault.has_rank()) return strike_host(fault);
  if (!running_.contains(fault.rank())) return say(fault, "the rank has ended before");
  say(fault, "now");
  const Duration lasts(fault.lasts_ns());
  switch (fault.kind()) {
    case messages::Fault::SIGNAL:
      send(fault.rank(), fault.signal());
      return;
    case messages::Fault::STOP:
      send(fault.rank(), SIGSTOP);
      if (lasts > Duration::zero())
        after(lasts, [this, rank = fault.rank()] { send(rank, SIGCONT); });
      return;
    case messages::Fault::SLOW:
      return slow(fault.rank(), static_cast<int>(fault.percent()),
                  lasts > Duration::zero() ? loop_.clock().now() + lasts : TimePoint::max(), true);
    default:
      send(fault.rank(), SIGKILL);
      return;
  }
}

// A stopped or killed agent says nothing any more, so this comes first. The helper of a killed
// agent kills the ranks, as it would if the host lost its agent otherwise.
void FaultService::strike_host(const messages::Fault& fault) {
  say(fault, "now");
  after(kLook, [this, kind = fault.kind()] {
    if (kind == messages::Fault::KILL) ::raise(SIGKILL);
    for (const auto& [rank, pidfd] : running_) send(rank, SIGSTOP);
    ::kill(options_.helper, SIGSTOP);
    ::raise(SIGSTOP);
  });
}

void FaultService::slow(std::uint32_t rank, int percent, TimePoint until, bool runs) {
  const bool is_over = loop_.clock().now() >= until;
  if (!send(rank, runs || is_over ? SIGCONT : SIGSTOP) || is_over) return;
  const Duration slice = kSlice * (runs ? percent : 100 - percent) / 100;
  after(slice, [=, this] { slow(rank, percent, until, !runs); });
}

// The file is deleted at once: whatever happens to this process, its space becomes free.
void FaultService::fill(const messages::Fault& fault) {
  UniqueFd file(::open(fault.path().c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
  struct statvfs space {};
  if (!file || ::fstatvfs(file.get(), &space) != 0)
    return say(fault, std::string("not possible: ") + std::strerror(errno));
  const auto bytes = static_cast<off_t>(space.f_bavail * space.f_frsize);
  const int error = ::posix_fallocate(file.get(), 0, bytes);
  if (error != 0 && error != ENOSPC)
    return say(fault, std::string("not possible: ") + std::strerror(error));
  say(fault, "now");
  fillers_.push_back(std::move(file));
  if (fault.lasts_ns() > 0)
    after(Duration(fault.lasts_ns()), [this, at = fillers_.size() - 1] { fillers_[at].reset(); });
}

bool FaultService::send(std::uint32_t rank, int signal) const {
  const auto found = running_.find(rank);
  return found != running_.end() &&
         ::syscall(SYS_pidfd_send_signal, found->second.get(), signal, nullptr, 0) == 0;
}

void FaultService::say(const messages::Fault& fault, const std::string& outcome) const {
  messages::FromAgent message;
  message.mutable_notice()->set_text("fault, " + fault.name() + ": " + outcome);
  options_.tell(message);
}

void FaultService::after(Duration delay, std::function<void()> action) {
  std::erase_if(timers_, [this](EventLoop::TimerId timer) { return !loop_.is_pending(timer); });
  timers_.push_back(loop_.after(delay, std::move(action)));
}

}  // namespace paceline::launcher
