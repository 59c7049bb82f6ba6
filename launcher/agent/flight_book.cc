#include "launcher/agent/flight_book.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "comm/store_keys.h"

namespace paceline::launcher {

void FlightBook::enter(int rank, std::unique_ptr<FlightRing> ring) {
  const std::lock_guard lock(mutex_);
  rings_.insert_or_assign(rank, std::move(ring));
}

std::string FlightBook::last_operation(int rank) const {
  const std::lock_guard lock(mutex_);
  const auto ring = rings_.find(rank);
  if (ring == rings_.end()) return "";
  const std::vector<FlightRecord> records = ring->second->read();
  if (records.empty()) return "";
  const auto running = std::find_if(records.rbegin(), records.rend(), [](const auto& record) {
    return record.state == FlightState::kStarted;
  });
  return (running != records.rend() ? *running : records.back()).to_string(clock_.now());
}

std::string FlightBook::answer(std::string_view key) const {
  const std::optional<int> rank = rank_of_flight_key(key);
  return rank ? last_operation(*rank) : "";
}

}  // namespace paceline::launcher
