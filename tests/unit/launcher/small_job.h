// A job of two ranks on host a and one on host b, for tests of observers. The real machine makes
// its states.
#pragma once

#include <algorithm>
#include <cstdint>
#include <variant>
#include <vector>

#include "launcher/job/job_machine.h"
#include "launcher/job/job_observer.h"

namespace paceline::launcher {

class SmallJob {
 public:
  explicit SmallJob(JobObserver* observer = nullptr) : observer_(observer) { handle(JobBegins{}); }

  const JobState& state() const { return machine_.state(); }
  /// That the last event led to.
  const std::vector<JobCommand>& commands() const { return commands_; }
  void pass(Duration time) { now_ += time; }
  TimePoint now() const { return now_; }

  void handle(const JobEvent& event) {
    commands_ = machine_.handle(now_, event);
    if (observer_ != nullptr) observer_->saw(now_, event, state());
    const bool begins = std::ranges::any_of(commands_, [](const JobCommand& command) {
      const Record* const record = std::get_if<Record>(&command);
      return record != nullptr && std::holds_alternative<EpochBegins>(record->entry);
    });
    if (begins) handle(EpochRecorded{});
  }
  void started(std::size_t host, std::uint32_t rank, std::int64_t pid) {
    AgentSaid said{.host = host, .message = {}};
    said.message.mutable_started()->set_rank(rank);
    said.message.mutable_started()->set_pid(pid);
    handle(said);
  }
  void ended(std::size_t host, std::uint32_t rank, int wait_status) {
    AgentSaid said{.host = host, .message = {}};
    said.message.mutable_exited()->set_rank(rank);
    said.message.mutable_exited()->set_wait_status(wait_status);
    handle(said);
  }
  void finished(std::size_t host) {
    AgentSaid said{.host = host, .message = {}};
    said.message.mutable_finished();
    handle(said);
  }

 private:
  JobObserver* const observer_;
  std::vector<JobCommand> commands_;
  TimePoint now_{std::chrono::seconds(100)};
  JobMachine machine_{{.grace = std::chrono::seconds(10)},
                      {{.name = "a", .ranks = {0, 1}}, {.name = "b", .ranks = {2}}}};
};

}  // namespace paceline::launcher
