// Says whether the kernel's OOM killer ended a rank.
#pragma once

#include <optional>

#include "launcher/agent/oom_watch.h"
#include "launcher/agent/rank_service.h"

namespace paceline::launcher {

class OomService final : public RankService {
 public:
  Status prepare(const messages::Start&) override {
    watch_.emplace(OomWatch::open());
    return {};
  }
  void started(const messages::RankStarted& rank) override {
    watch_->started(static_cast<pid_t>(rank.pid()));
  }
  void ended(const messages::ProcessExited& exited, messages::RankExited& report) override {
    if (killed_) return;
    const auto where = watch_->killed(static_cast<pid_t>(exited.pid()), exited.wait_status());
    if (where) report.set_oom_cgroup(*where);
  }
  /// The agent has sent SIGKILL to the ranks: their ends say nothing any more.
  void ranks_were_killed() { killed_ = true; }

 private:
  std::optional<OomWatch> watch_;
  bool killed_ = false;
};

}  // namespace paceline::launcher
