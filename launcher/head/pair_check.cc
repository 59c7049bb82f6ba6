#include "launcher/head/pair_check.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "comm/base/environment.h"
#include "comm/base/text.h"
#include "comm/base/try.h"
#include "launcher/connectivity/host_oddities.h"
#include "launcher/connectivity/pair_faults.h"
#include "launcher/connectivity/pair_table.h"
#include "launcher/connectivity/rails.h"
#include "launcher/connectivity/survey.h"
#include "launcher/connectivity/trials.h"
#include "launcher/head/agent_link.h"

namespace paceline::launcher {
namespace {

constexpr Duration kSurveyPatience = std::chrono::milliseconds(2500);
// Busy hosts, whose trials take longer, say each half a second that they go on.
constexpr Duration kTrialPatience = Trials::kPatience + std::chrono::milliseconds(500);
constexpr Duration kMostPatience = std::chrono::seconds(12);
// How much longer than a rail that works a better one may take.
constexpr Duration kGrace = std::chrono::milliseconds(50);
// The long message has some packets of the longest, and is no burden.
constexpr int kLeastLongBytes = 4096;
constexpr int kMostLongBytes = 128 << 10;

class PairCheck {
 public:
  PairCheck(EventLoop& loop, std::vector<HostAgent>& agents, const PairCheckOptions& options)
      : loop_(loop), agents_(agents), options_(options), surveys_(agents.size()) {}
  ~PairCheck() {
    for (const HostAgent& agent : agents_) stop_listening(agent.channel);
    for (const auto& timer : {patience_, grace_})
      if (timer) loop_.cancel(*timer);
  }

  Status run();

 private:
  // An error about one host, which is noted as that host's fault.
  Status fault_of(std::size_t host, Code code, const std::string& text) {
    const std::string& name = agents_[host].start.host();
    options_.faults.add({.host = name, .why = text});
    return Status(code, Scope::kGroup, "host " + name + ": " + text);
  }
  void receive(std::size_t host, const messages::FromAgent& message);
  Status surveyed(std::size_t host, const messages::Surveyed& message);
  void survey_overdue();
  Status start_trials();
  void wait_for_trials();
  Status tried(std::size_t host, const messages::Tried& message);
  void decide_early();
  void decide();
  void take(const Rail& rail);
  void fail(const Status& why);
  void finish(const Status& how);

  EventLoop& loop_;
  std::vector<HostAgent>& agents_;
  const PairCheckOptions& options_;
  const std::int64_t number_ = loop_.clock().now().time_since_epoch().count();
  const SystemWallClock wall_clock_;
  Duration asked_{};  // when by the wall clock
  std::vector<std::optional<HostSurvey>> surveys_;
  std::optional<PairTable> table_;
  TimePoint tries_since_{};
  std::size_t reports_left_ = 0;
  std::optional<EventLoop::TimerId> patience_;
  std::optional<EventLoop::TimerId> grace_;
  bool done_ = false;
  Status status_{Code::kCancelled, Scope::kOperation, "the start of the job was cancelled"};
};

Status PairCheck::run() {
  asked_ = wall_clock_.since_1970();
  for (std::size_t i = 0; i < agents_.size(); ++i) {
    AgentChannel& agent = agents_[i].channel;
    agent.open([this, i](const messages::FromAgent& message) { receive(i, message); },
               [this, i](const Status& why) {
                 fail(fault_of(i, Code::kPeerLost,
                               "the agent is gone" + (why.ok() ? "" : ": " + why.text())));
               });
    messages::ToAgent message;
    messages::Survey& survey = *message.mutable_survey();
    survey.set_job_key(agents_[i].start.job_key());
    survey.set_host_index(static_cast<std::uint32_t>(i));
    survey.set_number(number_);
    if (options_.ports.is_limited()) {
      survey.mutable_ports()->set_first(static_cast<std::uint32_t>(options_.ports.first));
      survey.mutable_ports()->set_last(static_cast<std::uint32_t>(options_.ports.last));
    }
    PACELINE_TRY(agent.send(message));
  }
  patience_ = loop_.after(kSurveyPatience, [this] { survey_overdue(); });
  PACELINE_TRY(loop_.run());
  return status_;
}

void PairCheck::receive(std::size_t host, const messages::FromAgent& message) {
  if (done_ && !status_.ok()) return;
  Status status;
  if (message.has_failure())
    status = Status(Code::kUnavailable, Scope::kGroup, message.failure().text());
  else if (message.has_surveyed())
    status = surveyed(host, message.surveyed());
  else if (message.has_tried())
    status = tried(host, message.tried());
  if (!status.ok())
    fail(status.code() == Code::kInvalidArgument ? status
                                                 : fault_of(host, status.code(), status.text()));
}

// ---- What the hosts are --------------------------------------------------------------------

Status PairCheck::surveyed(std::size_t host, const messages::Surveyed& message) {
  if (surveys_[host] || message.number() != number_) return Status();
  PACELINE_TRY_ASSIGN(HostSurvey survey, read_survey(message));
  survey.host = agents_[host].start.host();
  survey.reached_by = agents_[host].start.address();
  // It answered some time between the question and now: the nearer of both is to be believed.
  const Duration there = std::chrono::nanoseconds(message.time_ns());
  const Duration now = wall_clock_.since_1970();
  survey.clock_ahead = there > now      ? there - now
                       : there < asked_ ? there - asked_
                                        : Duration::zero();
  surveys_[host] = std::move(survey);
  const bool all = std::all_of(surveys_.begin(), surveys_.end(),
                               [](const auto& one) { return one.has_value(); });
  return all ? start_trials() : Status();
}

void PairCheck::survey_overdue() {
  patience_.reset();
  std::string missing;
  for (std::size_t i = 0; i < surveys_.size(); ++i) {
    if (surveys_[i]) continue;
    missing.append(missing.empty() ? "" : "\n")
        .append(fault_of(i, Code::kTimeout,
                         "the agent connected, but has not answered for " +
                             seconds_text(kSurveyPatience) +
                             ": it is stopped, or packets from or to it are lost")
                    .text());
  }
  fail(Status(Code::kTimeout, Scope::kGroup, missing));
}

// ---- The trials ----------------------------------------------------------------------------

std::uint32_t long_bytes_of(const std::vector<Rail>& rails) {
  int mtu = 0;
  for (const Rail& rail : rails)
    for (const HostInterface& end : rail.ends) mtu = std::max(mtu, end.mtu);
  return static_cast<std::uint32_t>(std::clamp(2 * mtu, kLeastLongBytes, kMostLongBytes));
}

Status PairCheck::start_trials() {
  std::vector<HostSurvey> hosts;
  for (const auto& survey : surveys_) hosts.push_back(*survey);
  for (const std::string& sentence : oddities_of(hosts)) options_.warn("warning: " + sentence);
  PACELINE_TRY_ASSIGN(std::vector<Rail> rails, rails_of(hosts, options_.choice));
  const std::uint32_t long_bytes = long_bytes_of(rails);
  table_.emplace(std::move(rails));
  reports_left_ = agents_.size();
  for (std::size_t i = 0; i < agents_.size(); ++i) {
    messages::ToAgent message;
    message.mutable_trials()->set_long_bytes(long_bytes);
    for (const PairTable::Target& target : table_->targets_of(i)) {
      messages::Target& one = *message.mutable_trials()->add_targets();
      one.set_host_index(static_cast<std::uint32_t>(target.host));
      one.set_address(target.address.to_string());
      one.set_port(static_cast<std::uint32_t>(hosts[target.host].door));
      one.set_wave(static_cast<std::uint32_t>(target.wave));
    }
    PACELINE_TRY(agents_[i].channel.send(message));
  }
  tries_since_ = loop_.clock().now();
  wait_for_trials();
  return Status();
}

void PairCheck::wait_for_trials() {
  if (loop_.clock().now() - tries_since_ > kMostPatience) return;
  if (patience_) loop_.cancel(*patience_);
  patience_ = loop_.after(kTrialPatience, [this] { decide(); });
}

Status PairCheck::tried(std::size_t host, const messages::Tried& message) {
  if (!table_) return Status();  // of a check before
  for (const messages::Trial& trial : message.trials())
    PACELINE_TRY(table_->note(host, trial.target(), trial.end()));
  for (const std::string& text : message.half_open())
    if (const auto address = IpAddress::parse(text)) table_->note_half_open(host, *address);
  if (message.last() && reports_left_ > 0) --reports_left_;
  if (!message.last()) wait_for_trials();
  decide_early();
  return Status();
}

// A rail that works is taken at once, unless a better one may yet turn out to.
void PairCheck::decide_early() {
  if (reports_left_ == 0) return decide();
  const std::optional<std::size_t> best = table_->best();
  if (!best) return;
  bool is_first = true;
  for (std::size_t rail = 0; rail < *best; ++rail) is_first &= table_->is_settled(rail);
  if (is_first) return decide();
  if (!grace_) grace_ = loop_.after(kGrace, [this] { decide(); });
}

void PairCheck::decide() {
  if (done_) return;
  std::vector<std::string> names;
  for (const HostAgent& agent : agents_) names.push_back(agent.start.host());
  if (const auto best = table_->best()) {
    for (const std::string& sentence : passed_over(*table_, *best, names))
      options_.warn("warning: " + sentence);
    return take(table_->rails()[*best]);
  }
  if (const auto mixed = table_->mixed()) return take(*mixed);
  for (const FaultyHost& one : faulty_hosts(*table_, names))
    options_.faults.add({.host = names[one.host],
                         .why = one.why,
                         .or_host = one.or_host ? names[*one.or_host] : ""});
  fail(Status(Code::kUnavailable, Scope::kGroup, describe_faults(*table_, names)));
}

void PairCheck::take(const Rail& rail) {
  for (std::size_t i = 0; i < agents_.size(); ++i) {
    agents_[i].start.set_address(rail.ends[i].address.to_string());
    agents_[i].start.set_interface(rail.ends[i].name);
  }
  finish(Status());
}

// An agent may go while the loop comes to its end: the job cannot begin then.
void PairCheck::fail(const Status& why) {
  if (done_ && !status_.ok()) return;
  done_ = false;
  finish(why);
}

void PairCheck::finish(const Status& how) {
  if (std::exchange(done_, true)) return;
  status_ = how;
  loop_.stop();
}

}  // namespace

Result<NetChoice> net_choice_of_environment() {
  const auto value = [](const char* name) {
    const char* const text = ::getenv(name);
    return std::string_view(text != nullptr ? text : "");
  };
  return NetChoice::choose({.paceline = value("PACELINE_NET"),
                            .nccl = value("NCCL_SOCKET_IFNAME"),
                            .gloo = value("GLOO_SOCKET_IFNAME")});
}

Result<PortRange> port_range_of_environment() {
  PACELINE_TRY_ASSIGN(const Environment environment, read_environment([](const char* name) {
                        return std::string_view(name) == "PACELINE_PORT_RANGE" ? ::getenv(name)
                                                                               : nullptr;
                      }));
  return environment.port_range;
}

Status check_pairs(EventLoop& loop, std::vector<HostAgent>& agents,
                   const PairCheckOptions& options) {
  if (agents.size() < 2) return Status();
  return PairCheck(loop, agents, options).run();
}

}  // namespace paceline::launcher
