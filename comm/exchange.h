// Ranks tell each other texts before their group has a transport: through the store, or over a
// group that all of them are in already.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <paceline/group.h>
#include <paceline/status.h>

#include "comm/base/clock.h"
#include "comm/store_client.h"

namespace paceline {

/// What a text is about. The same on all ranks.
struct ExchangeTopic {
  std::string key;   ///< a word; through the store, a group speaks of each topic once
  std::string task;  ///< of a rank, for errors: "announced its shared memory"
};

/// Collective, in the same order on all ranks. An error is the same on all that live, or names the
/// ranks that have not spoken by the deadline; then nothing is left to be exchanged.
class Exchange {
 public:
  virtual ~Exchange() = default;
  /// The texts of all, by rank.
  virtual Result<std::vector<std::string>> all(const ExchangeTopic& topic, const std::string& own,
                                               Deadline deadline) = 0;
};

/// Between parts of those who exchange texts: all parts speak of a topic at once, each to its own.
class PartExchange final : public Exchange {
 public:
  /// The whole is borrowed. `members`: their ranks in the whole.
  PartExchange(Exchange& whole, std::vector<int> members)
      : whole_(whole), members_(std::move(members)) {}

  Result<std::vector<std::string>> all(const ExchangeTopic& topic, const std::string& own,
                                       Deadline deadline) override;
  /// Other parts speak of a topic, and this one does not.
  Status listen(const ExchangeTopic& topic, Deadline deadline);

 private:
  Exchange& whole_;
  const std::vector<int> members_;
};

/// Through the store: rank r's text stands at "<key>/<group>/<epoch>/<r>". The store keeps it for
/// as long as that rank's client is there.
class StoreExchange final : public Exchange {
 public:
  /// Both are borrowed. Between `members`, ranks of the group; empty: all of it.
  StoreExchange(StoreClient& store, const Group& group, std::vector<int> members = {});

  Result<std::vector<std::string>> all(const ExchangeTopic& topic, const std::string& own,
                                       Deadline deadline) override;

 private:
  std::string key(const ExchangeTopic& topic, int rank) const;
  Status late(const ExchangeTopic& topic, int rank) const;

  StoreClient& store_;
  const Group& group_;
  std::vector<int> members_;
};

}  // namespace paceline
