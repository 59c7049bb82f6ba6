#include "launcher/head/machine_survey.h"

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "comm/base/text.h"
#include "comm/base/try.h"
#include "launcher/channel/machine_text.h"
#include "launcher/head/agent_link.h"

namespace paceline::launcher {
namespace {

// An agent's own patience with its drivers is 20 s.
constexpr Duration kMachinePatience = std::chrono::seconds(25);

class MachineSurvey {
 public:
  MachineSurvey(EventLoop& loop, std::vector<HostAgent>& agents, bool reserves, HostFaults& faults)
      : loop_(loop),
        agents_(agents),
        reserves_(reserves),
        faults_(faults),
        answers_(agents.size()) {}
  ~MachineSurvey() {
    for (const HostAgent& agent : agents_) stop_listening(agent.channel);
    if (patience_) loop_.cancel(*patience_);
  }

  Result<SurveyedCluster> run();

 private:
  // Notes a fault of one host, and returns the sentence about it.
  std::string fault_of(std::size_t host, const std::string& text) {
    const std::string& name = agents_[host].start.host();
    faults_.add({.host = name, .why = text});
    return "host " + name + ": " + text;
  }
  bool is_known(std::uint64_t digest) const {
    const auto machine = machine_of_.find(digest);
    return machine != machine_of_.end() && machine->second != topology::kNone;
  }
  Status ask(std::size_t host, bool whole);
  void receive(std::size_t host, const messages::FromAgent& message);
  Status described(std::size_t host, const messages::Described& message);
  Status ask_for_machines();
  Status take_machine(std::size_t host, const messages::Described& message);
  Status note_host(std::size_t host, const messages::Described& message);
  void overdue();
  void finish(const Status& how);

  EventLoop& loop_;
  std::vector<HostAgent>& agents_;
  const bool reserves_;
  HostFaults& faults_;
  const std::int64_t number_ = loop_.clock().now().time_since_epoch().count();
  std::vector<std::optional<messages::Described>> answers_;
  std::map<std::uint64_t, int> machine_of_;  // place in the cluster's machines, by digest
  std::size_t answers_left_ = 0;
  std::size_t machines_left_ = 0;
  SurveyedCluster found_;
  std::optional<EventLoop::TimerId> patience_;
  Status status_{Code::kCancelled, Scope::kOperation, "the start of the job was cancelled"};
};

Result<SurveyedCluster> MachineSurvey::run() {
  answers_left_ = agents_.size();
  for (std::size_t i = 0; i < agents_.size(); ++i) {
    agents_[i].channel.open(
        [this, i](const messages::FromAgent& message) { receive(i, message); },
        [this, i](const Status& why) {
          finish(Status(Code::kPeerLost, Scope::kGroup,
                        fault_of(i, "the agent is gone" + (why.ok() ? "" : ": " + why.text()))));
        });
    PACELINE_TRY(ask(i, agents_.size() == 1));
  }
  patience_ = loop_.after(kMachinePatience, [this] { overdue(); });
  PACELINE_TRY(loop_.run());
  PACELINE_TRY(status_);
  return std::move(found_);
}

Status MachineSurvey::ask(std::size_t host, bool whole) {
  messages::ToAgent message;
  message.mutable_describe()->set_whole(whole);
  message.mutable_describe()->set_job_id(agents_[host].start.job_id());
  message.mutable_describe()->set_reserves(reserves_);
  message.mutable_describe()->set_number(number_);
  return agents_[host].channel.send(message);
}

void MachineSurvey::receive(std::size_t host, const messages::FromAgent& message) {
  Status status;
  if (message.has_failure())
    status = Status(Code::kUnavailable, Scope::kGroup, fault_of(host, message.failure().text()));
  else if (message.has_described() && message.described().number() == number_)
    status = described(host, message.described());
  if (!status.ok()) finish(status);
}

Status MachineSurvey::described(std::size_t host, const messages::Described& message) {
  if (!message.failure().empty())
    return Status(Code::kUnavailable, Scope::kGroup, fault_of(host, printable(message.failure())));
  if (!message.machine().empty()) PACELINE_TRY(take_machine(host, message));
  if (!answers_[host]) {
    answers_[host] = message;
    --answers_left_;
    if (answers_left_ == 0 && agents_.size() > 1) PACELINE_TRY(ask_for_machines());
  }
  if (answers_left_ > 0 || machines_left_ > 0) return Status();
  for (std::size_t i = 0; i < agents_.size(); ++i) PACELINE_TRY(note_host(i, *answers_[i]));
  finish(Status());
  return Status();
}

Status MachineSurvey::ask_for_machines() {
  for (std::size_t i = 0; i < agents_.size(); ++i) {
    const bool is_new = machine_of_.emplace(answers_[i]->digest(), topology::kNone).second;
    if (!is_new) continue;
    ++machines_left_;
    PACELINE_TRY(ask(i, true));
  }
  return Status();
}

Status MachineSurvey::take_machine(std::size_t host, const messages::Described& message) {
  const auto [place, is_new] = machine_of_.emplace(message.digest(), topology::kNone);
  if (place->second != topology::kNone) return Status();
  if (!is_new) --machines_left_;
  PACELINE_TRY_ASSIGN(topology::HostModel machine,
                      unpack_machine("host " + agents_[host].start.host(), message.machine()));
  place->second = static_cast<int>(found_.cluster.machines.size());
  found_.cluster.machines.push_back(std::move(machine));
  return Status();
}

// Of what the agent believes that it may use, what its machine has.
Status MachineSurvey::note_host(std::size_t host, const messages::Described& message) {
  const auto machine = machine_of_.find(message.digest());
  const auto cpus = CpuSet::parse(message.cpus());
  std::vector<CpuSet> taken;
  for (const std::string& text : message.taken_cpus())
    taken.push_back(CpuSet::parse(text).value_or(CpuSet()));
  if (!is_known(message.digest()) || !cpus)
    return Status(Code::kUnavailable, Scope::kPeer,
                  fault_of(host, "the agent sent a malformed description of the machine"));
  const CpuSet& all = found_.cluster.machines[static_cast<std::size_t>(machine->second)].cpus;
  found_.cluster.hosts.push_back({.name = agents_[host].start.host(),
                                  .machine = machine->second,
                                  .cpus = cpus->has_any(all) ? *cpus & all : all});
  found_.taken.push_back(std::move(taken));
  return Status();
}

void MachineSurvey::overdue() {
  patience_.reset();
  std::string missing;
  for (std::size_t i = 0; i < answers_.size(); ++i) {
    if (answers_[i] && is_known(answers_[i]->digest())) continue;
    missing.append(missing.empty() ? "" : "\n")
        .append(fault_of(
            i, "the agent has not described its machine within " + seconds_text(kMachinePatience)));
  }
  finish(Status(Code::kTimeout, Scope::kGroup, missing));
}

void MachineSurvey::finish(const Status& how) {
  status_ = how;
  loop_.stop();
}

}  // namespace

Result<SurveyedCluster> survey_machines(EventLoop& loop, std::vector<HostAgent>& agents,
                                        bool reserves, HostFaults& faults) {
  return MachineSurvey(loop, agents, reserves, faults).run();
}

}  // namespace paceline::launcher
