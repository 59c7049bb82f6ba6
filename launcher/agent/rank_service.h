// A service provides something to the ranks of a host. All services stand in one table
// (host_run.cc). A service lives as long as the ranks of one start.
//
//   prepare()   once, before the first rank
//   equip()     for each rank, in their order: what it begins with
//   started()   ended()
#pragma once

#include <vector>

#include <paceline/status.h>

#include "comm/base/unique_fd.h"
#include "launcher/agent/rank_environment.h"
#include "launcher/channel/messages.pb.h"

namespace paceline::launcher {

/// The descriptors and variables with which a rank begins.
class RankEquipment {
 public:
  /// Returns the number that the descriptor has in the rank.
  int add(UniqueFd descriptor) {
    descriptors_.push_back(std::move(descriptor));
    return static_cast<int>(descriptors_.size()) - 1;
  }
  /// Variables that the user cannot change.
  Variables& variables() { return variables_; }
  std::vector<UniqueFd> take_descriptors() { return std::move(descriptors_); }

 private:
  Variables variables_;
  std::vector<UniqueFd> descriptors_;
};

/// Belongs to the thread of the agent's loop.
class RankService {
 public:
  virtual ~RankService() = default;

  /// An error: no rank starts.
  virtual Status prepare(const messages::Start&) { return {}; }
  virtual Status equip(int /*local_rank*/, RankEquipment&) { return {}; }
  virtual void started(const messages::RankStarted&) {}
  /// Adds what it knows to the report of a rank that has ended.
  virtual void ended(const messages::ProcessExited&, messages::RankExited& /*report*/) {}
  /// A rank of any host has ended with exit code 0.
  virtual void ended_well(const messages::RankEnded&) {}
};

}  // namespace paceline::launcher
