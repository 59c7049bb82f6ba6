// The store, through which the ranks of a job find each other. The agent of the first host opens
// it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <paceline/status.h>

#include "comm/store_server.h"
#include "launcher/agent/flight_book.h"
#include "launcher/agent/rank_service.h"

namespace paceline::launcher {

/// On a job of one host, the kernel refuses processes of other users, except root. On a job of
/// several hosts, processes without the key are refused. Refusals are logged at the log level of
/// the ranks.
class StoreService final : public RankService {
 public:
  /// The store answers for the operations of this host's ranks from `flights`.
  explicit StoreService(std::shared_ptr<FlightBook> flights) : flights_(std::move(flights)) {}

  Status prepare(const messages::Start& start) override;
  void ended_well(const messages::RankEnded& ended) override;

  /// From prepare() on.
  const messages::Meeting& meeting() const { return meeting_; }
  /// True if the store is here and serves ranks of other hosts too.
  bool serves_others() const { return serves_others_; }

 private:
  Status open(const messages::Start& start);

  const std::shared_ptr<FlightBook> flights_;  // owners: this, and the service that fills it
  messages::Meeting meeting_;
  std::unique_ptr<StoreServer> store_;  // null: it is on another host
  bool serves_others_ = false;
};

}  // namespace paceline::launcher
