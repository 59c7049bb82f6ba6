// Runs in the agent.
#include "launcher/agent/fault_service.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
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
// Time for the report of a fault that ends this process. gRPC passes on bytes a moment after they
// have left the backlog.
constexpr Duration kMaxReport = std::chrono::seconds(1);
constexpr Duration kReport = std::chrono::milliseconds(20);
// A slowed rank runs for its share of this, and is stopped for the rest. As long as the period of
// control groups: a process may stop a tick of the kernel late.
constexpr Duration kSlice = std::chrono::milliseconds(100);

bool is_of_link(const messages::Fault& fault) {
  return fault.kind() == messages::Fault::DELAY || fault.kind() == messages::Fault::DROP;
}

bool ends_host(const messages::Fault& fault) {
  return !fault.has_rank() && !is_of_link(fault) && fault.kind() != messages::Fault::FILL;
}

}  // namespace

Status FaultService::prepare(const messages::Start& start) {
  ranks_ = {start.ranks().begin(), start.ranks().end()};
  for (const messages::Fault& fault : start.faults()) {
    if (fault.restart() != start.epoch()) continue;
    if (fault.has_operation())
      at_operations_.push_back(fault);
    else
      timed_.push_back(fault);
  }
  links_.emplace(loop_, start.interface(),
                 [this](const std::string& text) { notice("faults of links: " + text); });
  return {};
}

void FaultService::started(const messages::RankStarted& rank) {
  const auto pid = static_cast<pid_t>(rank.pid());
  running_[rank.rank()] = {.pid = pid, .pidfd = open_pidfd(pid)};
  if (++started_ == ranks_.size()) begin();
}

void FaultService::ended(const messages::ProcessExited& exited, messages::RankExited&) {
  running_.erase(exited.rank());
  const auto missed = take(
      [&exited](const messages::Fault& fault) { return fault.watched_rank() == exited.rank(); });
  for (const messages::Fault& fault : missed) say(fault, "the rank has ended before");
  if (running_.empty() && started_ == ranks_.size()) end();
}

// The agent may stay: for the store, or for a restart.
void FaultService::end() {
  timers_.cancel();
  for (const messages::Fault& fault : timed_) say(fault, "the ranks have ended before");
  timed_.clear();
  fillers_.clear();
  links_->clear();
}

Status FaultService::equip(int local_rank, RankEquipment&) {
  hold(ranks_[static_cast<std::size_t>(local_rank)]);
  return {};
}

// The rank waits at the first operation at which something is to happen.
void FaultService::hold(std::uint32_t rank) {
  std::optional<std::uint64_t> first;
  for (const messages::Fault& fault : at_operations_)
    if (fault.watched_rank() == rank)
      first = std::min(first.value_or(fault.operation()), fault.operation());
  options_.flights->hold_at(static_cast<int>(rank), first);
}

void FaultService::begin() {
  for (auto one = timed_.begin(); one != timed_.end(); ++one)
    timers_.after(Duration(one->after_ns()), [this, one] {
      const messages::Fault fault = std::move(*one);
      timed_.erase(one);
      begin_fault(fault);
    });
  look_at_operations();
}

std::vector<messages::Fault> FaultService::take(
    const std::function<bool(const messages::Fault&)>& is_due) {
  std::vector<messages::Fault> due;
  std::erase_if(at_operations_, [&](const messages::Fault& fault) {
    if (!is_due(fault)) return false;
    due.push_back(fault);
    return true;
  });
  return due;
}

void FaultService::look_at_operations() {
  std::map<std::uint32_t, std::optional<std::uint64_t>> last;  // by rank
  for (const messages::Fault& fault : at_operations_) last.try_emplace(fault.watched_rank());
  for (auto& [rank, number] : last) number = options_.flights->last_begun(static_cast<int>(rank));
  const auto due = take([&last](const messages::Fault& fault) {
    const auto& number = last[fault.watched_rank()];
    return number && *number >= fault.operation();
  });
  for (const messages::Fault& fault : due) begin_fault(fault);
  // The ranks of a host that ends stay where they wait.
  const bool host_ends = std::ranges::any_of(due, ends_host);
  if (host_ends) return;
  for (const messages::Fault& fault : due) hold(fault.watched_rank());
  if (!at_operations_.empty()) timers_.after(kLook, [this] { look_at_operations(); });
}

void FaultService::begin_fault(const messages::Fault& fault) {
  if (is_of_link(fault)) return impair(fault);
  if (fault.kind() == messages::Fault::FILL) return fill(fault);
  if (ends_host(fault)) return end_host(fault);
  if (!running_.contains(fault.rank())) return say(fault, "the rank has ended before");
  if (fault.kind() == messages::Fault::EXIT) return exit(fault);
  say(fault, "now");
  const Duration lasts(fault.lasts_ns());
  switch (fault.kind()) {
    case messages::Fault::SIGNAL:
      send(fault.rank(), fault.signal());
      return;
    case messages::Fault::STOP:
      send_group(fault.rank(), SIGSTOP);
      if (lasts > Duration::zero())
        timers_.after(lasts, [this, rank = fault.rank()] { send_group(rank, SIGCONT); });
      return;
    case messages::Fault::SLOW:
      return slow(fault.rank(), fault.percent(),
                  lasts > Duration::zero() ? loop_.clock().now() + lasts : TimePoint::max(), true);
    default:
      send(fault.rank(), SIGKILL);
      return;
  }
}

// A stopped or killed agent says nothing any more, so this comes first. The helper of a killed
// agent kills the ranks, as it would if the host lost its agent otherwise. A stopped agent would
// keep packets that faults of links have redirected to it.
void FaultService::end_host(const messages::Fault& fault) {
  say(fault, "now");
  end_host_when_told(fault.kind(), Deadline::after(loop_.clock(), kMaxReport));
}

void FaultService::end_host_when_told(messages::Fault::Kind kind, Deadline deadline) {
  if (options_.backlog_bytes() > 0 && !deadline.passed(loop_.clock().now()))
    return end_of_host_.after(kLook, [=, this] { end_host_when_told(kind, deadline); });
  end_of_host_.after(kReport, [this, kind] {
    if (kind == messages::Fault::KILL) ::raise(SIGKILL);
    links_->clear();
    for (const auto& [rank, process] : running_) send_group(rank, SIGSTOP);
    ::kill(options_.helper, SIGSTOP);
    ::raise(SIGSTOP);
  });
}

// The rank may wait in the operation for which the fault is meant. Otherwise the next one comes.
void FaultService::exit(const messages::Fault& fault) {
  const bool waits = fault.has_operation() && fault.watched_rank() == fault.rank();
  say(fault, waits ? "now" : "at the rank's next operation");
  options_.flights->exit_at_next(static_cast<int>(fault.rank()), fault.exit_code());
}

void FaultService::slow(std::uint32_t rank, double percent, TimePoint until, bool runs) {
  const bool is_over = loop_.clock().now() >= until;
  if (!send_group(rank, runs || is_over ? SIGCONT : SIGSTOP) || is_over) return;
  const auto slice =
      std::chrono::duration_cast<Duration>(kSlice * (runs ? percent : 100 - percent) / 100);
  timers_.after(slice, [=, this] { slow(rank, percent, until, !runs); });
}

// The file is deleted at once: whatever happens to this process, its space becomes free. What is
// left of the space is halved until nothing more fits.
void FaultService::fill(const messages::Fault& fault) {
  UniqueFd file(::open(fault.path().c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
  struct statvfs space {};
  if (!file || ::fstatvfs(file.get(), &space) != 0)
    return say(fault, std::string("not possible: ") + std::strerror(errno));
  const auto block = static_cast<off_t>(space.f_frsize);
  off_t taken = 0;
  for (off_t more = static_cast<off_t>(space.f_bavail) * block; more >= block;) {
    if (::fallocate(file.get(), 0, taken, more) == 0)
      taken += more;
    else if (errno == ENOSPC)
      more /= 2;
    else if (errno != EINTR)
      return say(fault, std::string("not possible: ") + std::strerror(errno));
  }
  say(fault, "now");
  fillers_.push_back(std::move(file));
  if (fault.lasts_ns() > 0)
    timers_.after(Duration(fault.lasts_ns()), [this, at = fillers_.size() - 1] {
      if (at < fillers_.size()) fillers_[at].reset();
    });
}

void FaultService::impair(const messages::Fault& fault) {
  const Status begun = links_->begin(fault);
  say(fault, begun.ok() ? "now" : "not possible: " + begun.text());
}

bool FaultService::send(std::uint32_t rank, int signal) const {
  const auto found = running_.find(rank);
  return found != running_.end() &&
         ::syscall(SYS_pidfd_send_signal, found->second.pidfd.get(), signal, nullptr, 0) == 0;
}

// A rank leads its group. Once it has been reaped, the number may be another's: its pidfd knows.
bool FaultService::send_group(std::uint32_t rank, int signal) const {
  return send(rank, 0) && ::kill(-running_.at(rank).pid, signal) == 0;
}

void FaultService::say(const messages::Fault& fault, const std::string& outcome) const {
  notice("fault, " + fault.name() + ": " + outcome);
}

void FaultService::notice(const std::string& text) const {
  messages::FromAgent message;
  message.mutable_notice()->set_text(text);
  options_.tell(message);
}

}  // namespace paceline::launcher
