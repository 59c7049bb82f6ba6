#include "launcher/head/stack_requests.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "comm/base/text.h"
#include "launcher/stacks/process_view.h"

namespace paceline::launcher {
namespace {

namespace v1 = job::v1;

constexpr int kMaxPythonLines = 1024;
constexpr std::size_t kMaxTextBytes = 1024;

v1::Process without_stacks(const std::string& why) {
  v1::Process process;
  process.set_failure(why);
  return process;
}

std::string bounded(const std::string& text) { return printable(text.substr(0, kMaxTextBytes)); }

template <class Field>
void bound(Field& field, std::size_t max) {
  if (static_cast<std::size_t>(field.size()) > max)
    field.DeleteSubrange(static_cast<int>(max), field.size() - static_cast<int>(max));
}

void bound_texts(google::protobuf::RepeatedPtrField<std::string>& texts, std::size_t max) {
  bound(texts, max);
  for (std::string& text : texts) text = bounded(text);
}

void check_process(v1::Process& process) {
  process.set_program(bounded(process.program()));
  process.set_waits_for(bounded(process.waits_for()));
  process.set_failure(bounded(process.failure()));
  bound_texts(*process.mutable_python(), kMaxPythonLines);
  bound(*process.mutable_threads(), kMaxStackThreads);
  for (v1::Thread& thread : *process.mutable_threads()) {
    thread.set_name(bounded(thread.name()));
    thread.set_state(bounded(thread.state()));
    thread.set_kernel_function(bounded(thread.kernel_function()));
    bound_texts(*thread.mutable_frames(), kMaxStackFrames);
  }
}

}  // namespace

std::vector<v1::Process> checked_processes(const messages::RankStacks& stacks) {
  std::vector<v1::Process> processes;
  for (const std::string& bytes : stacks.processes()) {
    if (processes.size() == kMaxStackProcesses) break;
    v1::Process process;
    if (!process.ParseFromString(bytes))
      process = without_stacks("its agent sent something that is not a process");
    check_process(process);
    processes.push_back(std::move(process));
  }
  return processes;
}

Status StackRequests::check(const std::vector<std::uint32_t>& ranks) const {
  if (ranks.size() > kMaxRanks)
    return Status(Code::kInvalidArgument, Scope::kOperation,
                  "stacks of " + std::to_string(ranks.size()) + " ranks were asked for; ask for " +
                      std::to_string(kMaxRanks) + " or fewer at a time");
  if (pending_.size() >= kMaxPending)
    return Status(Code::kExhausted, Scope::kOperation,
                  "too many requests for stacks wait; try again in some seconds");
  const JobState* const state = options_.state();
  if (state == nullptr) return Status();
  const auto is_none = [&](std::uint32_t rank) { return rank >= state->ranks.size(); };
  const auto none = std::ranges::find_if(ranks, is_none);
  if (none == ranks.end()) return Status();
  return Status(Code::kInvalidArgument, Scope::kOperation,
                "the job has no rank " + std::to_string(*none) + "; its ranks are 0 to " +
                    std::to_string(state->ranks.size() - 1));
}

void StackRequests::take(const std::vector<std::uint32_t>& ranks, RankStacksTaken done) {
  if (const Status status = check(ranks); !status.ok()) return done(status);
  const JobState* const state = options_.state();
  Pending& pending = pending_.emplace_back();
  pending.number = ++last_number_;
  pending.done = std::move(done);
  for (const std::uint32_t rank : std::set(ranks.begin(), ranks.end())) {
    if (state == nullptr || state->ranks[rank].pid == 0)
      pending.stacks[rank] = {without_stacks("the rank has not started yet")};
    else if (state->ranks[rank].ended)
      pending.stacks[rank] = {without_stacks("the rank has ended")};
    else
      pending.missing[state->ranks[rank].host].push_back(rank);
  }
  const Place place = std::prev(pending_.end());
  ask(pending);
  timers_.after(kPatience, [this, number = pending.number] {
    const auto late = std::ranges::find(pending_, number, &Pending::number);
    if (late == pending_.end()) return;
    while (!late->missing.empty())
      give_up(*late, late->missing.begin()->first, "the agent has not answered within 5 s");
    end_if_whole(late);
  });
  end_if_whole(place);
}

void StackRequests::ask(Pending& pending) {
  std::vector<std::size_t> without_agent;
  for (const auto& [host, ranks] : pending.missing) {
    messages::ToAgent message;
    message.mutable_take_stacks()->set_number(pending.number);
    for (const std::uint32_t rank : ranks) message.mutable_take_stacks()->add_ranks(rank);
    if (!options_.send(host, message)) without_agent.push_back(host);
  }
  for (const std::size_t host : without_agent) give_up(pending, host, "it has no agent now");
}

void StackRequests::saw(TimePoint, const JobEvent& event, const JobState&) {
  if (const auto* const said = std::get_if<AgentSaid>(&event);
      said != nullptr && said->message.has_stacks_taken())
    answered(said->host, said->message.stacks_taken());
  const auto* const lost = std::get_if<AgentLost>(&event);
  if (lost == nullptr) return;
  for (Place pending = pending_.begin(); pending != pending_.end();) {
    const Place here = pending++;
    give_up(*here, lost->host, "the connection to its agent has ended");
    end_if_whole(here);
  }
}

// A rank that the agent leaves out has ended in the meantime, or its start is over.
void StackRequests::answered(std::size_t host, const messages::StacksTaken& taken) {
  const auto pending = std::ranges::find(pending_, taken.number(), &Pending::number);
  if (pending == pending_.end() || !pending->missing.contains(host)) return;
  const std::vector<std::uint32_t>& ranks = pending->missing[host];
  for (const messages::RankStacks& stacks : taken.ranks())
    if (std::ranges::find(ranks, stacks.rank()) != ranks.end())
      pending->stacks[stacks.rank()] = checked_processes(stacks);
  give_up(*pending, host, "its agent does not know the rank any more");
  end_if_whole(pending);
}

// Ranks of the host that have no answer.
void StackRequests::give_up(Pending& pending, std::size_t host, const std::string& why) {
  const auto missing = pending.missing.find(host);
  if (missing == pending.missing.end()) return;
  for (const std::uint32_t rank : missing->second)
    if (auto& processes = pending.stacks[rank]; processes.empty())
      processes.push_back(without_stacks("host " + name_of(host) + ": " + why));
  pending.missing.erase(missing);
}

void StackRequests::end_if_whole(Place pending) {
  if (!pending->missing.empty()) return;
  const Pending whole = std::move(*pending);
  pending_.erase(pending);
  whole.done(whole.stacks);
}

std::string StackRequests::name_of(std::size_t host) const {
  const JobState* const state = options_.state();
  return state != nullptr && host < state->hosts.size() ? printable(state->hosts[host].name)
                                                        : std::to_string(host);
}

}  // namespace paceline::launcher
