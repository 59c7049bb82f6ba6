// What ranks are bound to by the kernel's account, held against what they were to be bound to.
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "launcher/channel/messages.pb.h"

namespace paceline::launcher {

/// One thread.
class BindingReport {
 public:
  struct Options {
    bool says_all = false;             ///< a line for each rank, once all have started
    std::vector<std::string> devices;  ///< by rank, for people; empty: nobody has any
    std::function<void(const std::string&)> say;
  };

  BindingReport(int ranks, Options options)
      : options_(std::move(options)), lines_(static_cast<std::size_t>(ranks)) {}

  /// A rank executes its program. Warns once for each host where a rank is not bound as planned.
  void started(const messages::Start& host, const messages::RankStarted& rank);

 private:
  Options options_;
  std::vector<std::string> lines_;  // by rank
  std::size_t started_ = 0;
  std::set<std::string> warned_;  // hosts
};

}  // namespace paceline::launcher
