// paceline agent: stands for this host in a job whose head is elsewhere. Engines start it
// (launcher/engines/engine.h); whose it is stands on its standard input.
#include "launcher/agent/agent.h"

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "comm/base/try.h"
#include "launcher/channel/build_name.h"
#include "launcher/channel/head_dial.h"
#include "launcher/channel/invitation.h"
#include "launcher/cli/command.h"
#include "launcher/registry/record.h"
#include "launcher/registry/registry.h"
#include "launcher/system/complain.h"
#include "launcher/system/host.h"
#include "launcher/system/process_identity.h"
#include "launcher/system/system.h"

namespace paceline::launcher {
namespace {

constexpr Duration kInvitationPatience = std::chrono::seconds(30);
// How long a killed process may take to close what it had open.
constexpr Duration kDying = std::chrono::seconds(2);

Result<SeatChoice> parse(std::span<const std::string> arguments) {
  SeatChoice choice;
  for (std::size_t i = 0; i + 1 < arguments.size(); i += 2) {
    if (arguments[i] == "--name-from") choice.name_variable = arguments[i + 1];
    if (arguments[i] == "--position-from") choice.position_variable = arguments[i + 1];
  }
  const bool one = choice.name_variable.empty() != choice.position_variable.empty();
  if (arguments.empty() || (arguments.size() == 2 && one)) return choice;
  return Status(Code::kInvalidArgument, Scope::kProcess,
                "usage: paceline agent [--name-from VAR | --position-from VAR]; "
                "`paceline run` starts it");
}

class DialedRoad final : public HeadRoad {
 public:
  DialedRoad(messages::Invitation invitation, messages::Seat seat, std::string cgroup)
      : invitation_(std::move(invitation)), seat_(std::move(seat)), cgroup_(std::move(cgroup)) {}

  void leave() override {}
  Result<HeadConnection> take(EventLoop& loop) override {
    HeadConnection head;
    PACELINE_TRY_ASSIGN(head.channel,
                        dial_head(loop, invitation_, seat_, std::string(build_name())));
    if (invitation_.input_stays_open()) {
      PACELINE_TRY_ASSIGN(head.lifeline, duplicate(STDIN_FILENO));
    }
    head.cgroup = cgroup_;
    return head;
  }

 private:
  const messages::Invitation invitation_;
  const messages::Seat seat_;
  const std::string cgroup_;
};

// The job's entry on this host. None where another of its agents has made one, or its head: whoever
// made it clears up.
std::optional<JobRegistry::Entered> enter_job(const messages::Invitation& invitation,
                                              const messages::Seat& seat, const Clock& clock) {
  const JobRegistry registry(JobRegistry::here());
  registry.sweep();
  if (!is_job_id(invitation.job_id()) || registry.is_running(invitation.job_id()))
    return std::nullopt;
  Result<JobRegistry::Entered> entered =
      registry.enter({.id = invitation.job_id(),
                      .host = seat.host(),
                      .head = identify(::getpid()).value_or(ProcessIdentity{.pid = ::getpid()}),
                      .begin = clock.now(),
                      .ranks = 1,  // how many is not known yet, and a record without any is none
                      .command = "agent of a job on another host"});
  if (!entered.ok()) return std::nullopt;
  if (!entered->warning.empty()) entered->hold.let_go();
  return *std::move(entered);
}

Status serve_job(std::span<const std::string> arguments) {
  const SystemClock clock;
  PACELINE_TRY_ASSIGN(const SeatChoice choice, parse(arguments));
  PACELINE_TRY_ASSIGN(
      const messages::Invitation invitation,
      read_invitation(STDIN_FILENO, clock, Deadline::after(clock, kInvitationPatience)));
  PACELINE_TRY_ASSIGN(const messages::Seat seat,
                      find_seat(invitation, choice,
                                [](const char* name) -> const char* { return ::getenv(name); }));
  if (invitation.version() != build_name())
    return Status(Code::kDenied, Scope::kProcess,
                  versions_differ(seat.host(), build_name(), invitation.version()));
  std::optional<JobRegistry::Entered> entered = enter_job(invitation, seat, clock);
  DialedRoad road(invitation, seat, entered ? entered->cgroup : "");
  return run_agent(road, [&](bool alone) {
    if (!entered) return;
    alone ? entered->hold.leave_after_others(clock, kDying) : entered->hold.leave();
  });
}

}  // namespace

int agent_command(std::span<const std::string> arguments) {
  const Status status = serve_job(arguments);
  return status.ok() ? 0 : complain(status.text());
}

}  // namespace paceline::launcher
