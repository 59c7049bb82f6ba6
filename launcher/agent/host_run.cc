// Runs in the agent.
#include "launcher/agent/host_run.h"

#include <cstdint>
#include <cstdlib>
#include <utility>

#include "comm/base/cpus.h"
#include "comm/base/try.h"
#include "launcher/agent/fault_service.h"
#include "launcher/agent/flight_service.h"
#include "launcher/agent/key_service.h"
#include "launcher/agent/spawn_orders.h"

namespace paceline::launcher {

template <class Service, class... Arguments>
Service* HostRun::add(Arguments&&... arguments) {
  auto service = std::make_unique<Service>(std::forward<Arguments>(arguments)...);
  Service* const added = service.get();
  services_.push_back(std::move(service));
  return added;
}

HostRun::HostRun(EventLoop& loop, messages::Start start, UniqueFd standard_input, pid_t helper,
                 Handlers handlers)
    : clock_(loop.clock()), start_(std::move(start)), handlers_(std::move(handlers)) {
  const auto flights = std::make_shared<FlightBook>(loop.clock());
  streams_ = add<RankStreams>(loop, start_, std::move(standard_input), handlers_.tell);
  add<KeyService>();
  add<FlightService>(flights);
  telemetry_ = add<TelemetryService>(loop, flights, handlers_.tell, handlers_.read_gpus);
  meeting_ = add<StoreService>(flights);
  oom_ = add<OomService>();
  stacks_ = add<StackService>();
  // After the flight rings: it holds ranks in them.
  if (start_.faults().empty()) return;
  add<FaultService>(loop, FaultService::Options{.flights = flights,
                                                .helper = helper,
                                                .tell = handlers_.tell,
                                                .backlog_bytes = handlers_.backlog_bytes});
}

// ---- The start -----------------------------------------------------------------------------

Status HostRun::start(const std::string& cgroup) {
  std::vector<ProgramFile> programs;
  for (const messages::App& app : start_.apps()) {
    ProgramFile program =
        find_program(app.command(0), search_path(app.environment()), app.working_directory());
    if (program.error != 0) {
      messages::RankRefused refused;
      refused.set_rank(start_.ranks(0));
      refused.set_error(program.error);
      refused.set_text(program.text);
      refuse(std::move(refused));
      handlers_.ended();
      return {};
    }
    programs.push_back(std::move(program));
  }
  PACELINE_TRY(prepare());
  if (!cgroup.empty()) {
    messages::ToHelper message;
    message.set_cgroup(cgroup);
    PACELINE_TRY(handlers_.order(message, {}));
  }
  const HostFacts facts{.allowed_cpus = allowed_cpus(), .meeting = meeting_->meeting()};
  int local_rank = 0;
  for (int i = 0; i < start_.apps_size(); ++i) {
    const messages::App& app = start_.apps(i);
    const ProgramFile& file = programs[static_cast<std::size_t>(i)];
    PACELINE_TRY(handlers_.order(program_of(start_, app, facts, file, ::getenv), {}));
    for (std::uint32_t n = 0; n < app.ranks(); ++n) PACELINE_TRY(spawn(facts, i, local_rank++));
  }
  return {};
}

Status HostRun::prepare() {
  for (const auto& service : services_) PACELINE_TRY(service->prepare(start_));
  ranks_left_ = static_cast<std::size_t>(start_.ranks_size());
  messages::FromAgent ready;
  ready.set_epoch(start_.epoch());
  *ready.mutable_ready()->mutable_meeting() = meeting_->meeting();
  ready.mutable_ready()->set_time_ns(clock_.now().time_since_epoch().count());
  handlers_.tell(ready);
  return {};
}

Status HostRun::spawn(const HostFacts& facts, int program, int local_rank) {
  RankEquipment equipment;
  for (const auto& service : services_) PACELINE_TRY(service->equip(local_rank, equipment));
  messages::ToHelper message = spawn_of(start_, facts, program, local_rank, ::getenv);
  messages::Spawn& spawn = *message.mutable_spawn();
  spawn.set_tracer(handlers_.stacks.pid());
  spawn.mutable_environment()->MergeFrom(equipment.variables());
  std::vector<UniqueFd> descriptors = equipment.take_descriptors();
  spawn.set_descriptors(static_cast<std::uint32_t>(descriptors.size()));
  return handlers_.order(message, std::move(descriptors));
}

// ---- The ranks -----------------------------------------------------------------------------

void HostRun::receive(const messages::FromHelper& message) {
  if (message.has_exited()) return rank_ended(message.exited());
  if (message.has_refused()) {
    refuse(message.refused());
    return count_end();
  }
  if (!message.has_started()) return;
  for (const auto& service : services_) service->started(message.started());
  messages::FromAgent forward;
  forward.set_epoch(start_.epoch());
  *forward.mutable_started() = message.started();
  handlers_.tell(forward);
}

void HostRun::rank_ended(const messages::ProcessExited& exited) {
  messages::FromAgent message;
  message.set_epoch(start_.epoch());
  messages::RankExited& report = *message.mutable_exited();
  report.set_rank(exited.rank());
  report.set_wait_status(exited.wait_status());
  report.set_time_ns(exited.time_ns());
  report.set_peak_memory_kib(exited.peak_memory_kib());
  for (const auto& service : services_) service->ended(exited, report);
  handlers_.tell(message);
  count_end();
}

void HostRun::take_stacks(const messages::TakeStacks& wanted) {
  handlers_.stacks.take(stacks_->look_for(wanted, !handlers_.stacks.is_busy()));
}

void HostRun::ended_well(const messages::RankEnded& ended) {
  for (const auto& service : services_) service->ended_well(ended);
}

void HostRun::refuse(messages::RankRefused refused) {
  messages::FromAgent message;
  *message.mutable_refused() = std::move(refused);
  handlers_.tell(message);
}

void HostRun::count_end() {
  if (--ranks_left_ == 0) handlers_.ended();
}

}  // namespace paceline::launcher
