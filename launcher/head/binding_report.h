// Compares the CPUs and memory to which the kernel has bound ranks with the plan.
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "launcher/channel/messages.pb.h"
#include "launcher/job/job_observer.h"

namespace paceline::launcher {

/// One thread.
class BindingReport final : public JobObserver {
 public:
  struct Options {
    bool says_all = false;  ///< a line for each rank, once all have started
    std::function<void(const std::string&)> say;
  };
  /// A host has a seat for each of its ranks, or none.
  struct Host {
    std::string name;
    std::vector<std::uint32_t> ranks;  // ascending
    std::vector<messages::RankSeat> seats;
  };

  explicit BindingReport(Options options) : options_(std::move(options)) {}

  /// Sets the hosts of the next start. `devices` has a text for each rank. It is empty if no rank
  /// has a device.
  void take_hosts(std::vector<Host> hosts, std::vector<std::string> devices);

  void saw(TimePoint now, const JobEvent& event, const JobState& state) override;

 private:
  void started(const Host& host, const messages::RankStarted& rank);

  const Options options_;
  std::vector<Host> hosts_;
  std::vector<std::string> devices_;  // by rank
  std::vector<std::string> lines_;    // by rank
  std::size_t started_ = 0;
  std::set<std::string> warned_;  // hosts
};

}  // namespace paceline::launcher
