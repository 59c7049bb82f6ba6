// Gives each rank a flight ring, and reports from it when the rank has ended.
#pragma once

#include <memory>

#include "launcher/agent/flight_book.h"
#include "launcher/agent/rank_service.h"

namespace paceline::launcher {

class FlightService final : public RankService {
 public:
  /// `book` may be read by other threads.
  explicit FlightService(std::shared_ptr<FlightBook> book) : book_(std::move(book)) {}

  Status prepare(const messages::Start& start) override;
  Status equip(int local_rank, RankEquipment& rank) override;
  void ended(const messages::ProcessExited& exited, messages::RankExited& report) override;

 private:
  const std::shared_ptr<FlightBook> book_;  // owners: this, and the store that asks it
  std::vector<std::uint32_t> ranks_;        // by local rank
};

}  // namespace paceline::launcher
