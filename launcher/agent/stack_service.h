// Knows what is needed to look at the ranks of a start: which processes they are, and the memory
// into which their Python writes where it is. Puts the hook of Python before the ranks' own
// folders.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "comm/base/unique_fd.h"
#include "launcher/agent/rank_service.h"
#include "launcher/stacks/python_memory.h"
#include "launcher/system/process_identity.h"

namespace paceline::launcher {

/// An archive with sitecustomize.py, from which Python imports: in memory, so that nothing is left
/// whoever is killed, and sealed.
Result<UniqueFd> make_python_hook();

/// The value of PYTHONPATH for a rank that has the archive as `descriptor`, and would have `before`
/// (null: none).
std::string python_path(int descriptor, const char* before);

class StackService final : public RankService {
 public:
  Status prepare(const messages::Start& start) override;
  Status equip(int local_rank, RankEquipment& rank) override;
  void started(const messages::RankStarted& rank) override;
  void ended(const messages::ProcessExited& exited, messages::RankExited& report) override;

  /// The request for the stack taker. Ranks that do not run have no pid. `is_idle`: nobody reads
  /// the memories now.
  messages::LookAtRanks look_for(const messages::TakeStacks& wanted, bool is_idle);

 private:
  struct Rank {
    ProcessIdentity process;  // pid 0: it does not run
    UniqueFd memory;          // closed: it has none
    int descriptor = 0;       // of the memory, in the rank
  };
  const char* python_path_of(std::size_t local_rank) const;

  UniqueFd hook_;                        // closed: there are no hooks
  messages::Start start_;                // apps and ranks alone
  std::map<std::uint32_t, Rank> ranks_;  // by number
};

}  // namespace paceline::launcher
