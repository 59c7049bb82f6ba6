// Knows what is needed to look at the ranks of a start: which processes they are, and the memory
// into which their Python writes where it is. Puts the hook of Python before the ranks' own
// folders.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "launcher/agent/rank_service.h"
#include "launcher/stacks/python_memory.h"
#include "launcher/system/process_identity.h"

namespace paceline::launcher {

/// The folder with sitecustomize.py, which only this user can change. Its name begins with that of
/// the job's shared memory, so whoever clears up after the job removes it, too.
class PythonFolder {
 public:
  PythonFolder() = default;
  ~PythonFolder();
  PythonFolder(const PythonFolder&) = delete;
  PythonFolder& operator=(const PythonFolder&) = delete;

  /// Makes it in `place`; once. False: it cannot be made, and there are no hooks.
  bool make(const std::string& place, const std::string& job_id);
  /// Empty: there is none.
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// The value of PYTHONPATH for a rank that would have `before` (null: none). Empty: it stays as it
/// is, because `folder` cannot be in a list.
std::string python_path(const std::string& folder, const char* before);

class StackService final : public RankService {
 public:
  explicit StackService(std::string place = "/dev/shm") : place_(std::move(place)) {}

  Status prepare(const messages::Start& start) override;
  Status equip(int local_rank, RankEquipment& rank) override;
  void started(const messages::RankStarted& rank) override;
  void ended(const messages::ProcessExited& exited, messages::RankExited& report) override;

  /// What the stack taker must know. Ranks that do not run have no pid. `is_idle`: nobody reads the
  /// memories now.
  messages::LookAtRanks look_for(const messages::TakeStacks& wanted, bool is_idle);

 private:
  struct Rank {
    ProcessIdentity process;  // pid 0: it does not run
    UniqueFd memory;          // closed: it has none
    int descriptor = 0;       // of the memory, in the rank
  };
  const char* python_path_of(std::size_t local_rank) const;

  const std::string place_;
  PythonFolder folder_;
  messages::Start start_;                // apps and ranks alone
  std::map<std::uint32_t, Rank> ranks_;  // by number
};

}  // namespace paceline::launcher
