// What is known of the ways between a job's hosts, and what follows. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <paceline/status.h>

#include "launcher/channel/messages.pb.h"
#include "launcher/connectivity/rails.h"

namespace paceline::launcher {

class PairTable {
 public:
  /// What a host has to try.
  struct Target {
    std::size_t host = 0;
    IpAddress address;
    std::size_t wave = 0;  ///< the first rail that has it
  };

  /// The best rail first; each has an end for each host, and there are two hosts at least.
  explicit PairTable(std::vector<Rail> rails);

  /// All that the others may be reached by, in the order of the rails.
  std::vector<Target> targets_of(std::size_t host) const;
  /// How the trial of the target-th of targets_of(from) ended. An error where it has ended already,
  /// or there is no such target.
  Status note(std::size_t from, std::size_t target, messages::TrialEnd end);
  /// `at` has got a first packet from there, and its answer did not arrive.
  void note_half_open(std::size_t at, const IpAddress& from) { half_open_.insert({at, from}); }

  const std::vector<Rail>& rails() const { return rails_; }
  bool is_good(std::size_t rail) const;
  /// Whether all trials of it have ended.
  bool is_settled(std::size_t rail) const;
  /// The best that is good.
  std::optional<std::size_t> best() const;
  /// For each host the best address that all others reach, where no rail is good.
  std::optional<Rail> mixed() const;
  /// The rail that most pairs can use.
  std::size_t nearest() const;

  messages::TrialEnd end(std::size_t rail, std::size_t from, std::size_t to) const;
  /// Whether a first packet of `from` has come to `to`, whose answer did not.
  bool is_half_open(std::size_t rail, std::size_t from, std::size_t to) const;

 private:
  struct End {
    std::size_t host = 0;
    HostInterface interface;
    std::size_t wave = 0;
    std::size_t good = 0;  // hosts that reach it
  };
  struct Count {
    std::size_t good = 0;
    std::size_t ended = 0;
  };

  std::size_t hosts() const { return rails_.front().ends.size(); }
  std::size_t pairs() const { return hosts() * (hosts() - 1); }
  std::size_t target_end(std::size_t from, std::size_t target) const;

  const std::vector<Rail> rails_;
  std::vector<End> ends_;                                // each once
  std::vector<std::vector<std::size_t>> rail_ends_;      // by rail and host: places in ends_
  std::vector<std::vector<std::size_t>> own_ends_;       // by host, ascending
  std::vector<Count> counts_;                            // by rail
  std::vector<std::vector<messages::TrialEnd>> trials_;  // by host that tries, and end
  std::set<std::pair<std::size_t, IpAddress>> half_open_;
};

}  // namespace paceline::launcher
