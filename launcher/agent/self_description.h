// What the agent answers to Describe: its machine, the CPUs that it may use, and those of them that
// other jobs are bound to.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "launcher/agent/machine_scout.h"
#include "launcher/channel/messages.pb.h"
#include "launcher/registry/cpu_claims.h"
#include "launcher/system/event_loop.h"

namespace paceline::launcher {

/// Belongs to the agent's thread.
class SelfDescription {
 public:
  using Tell = std::function<void(const messages::FromAgent&)>;

  SelfDescription(EventLoop& loop, std::unique_ptr<MachineScout> scout, Tell tell)
      : loop_(loop), scout_(std::move(scout)), tell_(std::move(tell)) {}

  /// Once the scout is back, and no other job that reserves plans just now.
  void answer(const messages::Describe& question);
  /// The ranks start: other jobs may plan. Writes down what the ranks are bound to.
  void end(const CpuSet& bound_cpus);

 private:
  void await_scout(const messages::Describe& question);

  EventLoop& loop_;
  std::unique_ptr<MachineScout> scout_;  // until it is back
  const Tell tell_;
  messages::Describe question_;      // that waits for the scout
  messages::Described machine_;      // once it is
  std::optional<CpuClaims> claims_;  // once somebody has asked
  int waits_ = 0;                    // for other jobs that plan
};

}  // namespace paceline::launcher
