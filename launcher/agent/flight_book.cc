#include "launcher/agent/flight_book.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "comm/store_keys.h"

namespace paceline::launcher {
namespace {

std::optional<FlightRecord> last_of(const std::vector<FlightRecord>& records) {
  if (records.empty()) return std::nullopt;
  const auto running = std::find_if(records.rbegin(), records.rend(), [](const auto& record) {
    return record.state == FlightState::kStarted;
  });
  return running != records.rend() ? *running : records.back();
}

// The records of a communicator are in the order of their beginning.
std::vector<FlightBook::Place> places_of(std::vector<FlightRecord> records) {
  std::map<std::pair<std::string, std::uint64_t>, FlightBook::Place> found;
  for (FlightRecord& record : records) {
    const auto [at, is_first] = found.try_emplace({record.group, record.group_id});
    FlightBook::Place& place = at->second;
    const bool runs = !is_first && place.record.state == FlightState::kStarted;
    // A message carries the number of the collective operation that comes next.
    const std::uint64_t next =
        record.signature.sequence + (is_collective(record.signature.kind) ? 1 : 0);
    place.calls = std::max(place.calls, next);
    if (!runs) place.record = std::move(record);
  }
  std::vector<FlightBook::Place> places;
  for (auto& [group, place] : found) places.push_back(std::move(place));
  return places;
}

}  // namespace

void FlightBook::enter(int rank, std::unique_ptr<FlightRing> ring) {
  const std::lock_guard lock(mutex_);
  rings_.insert_or_assign(rank, std::move(ring));
}

std::vector<FlightRecord> FlightBook::records_of(int rank) const {
  const std::lock_guard lock(mutex_);
  const auto ring = rings_.find(rank);
  return ring == rings_.end() ? std::vector<FlightRecord>() : ring->second->read();
}

FlightBook::Position FlightBook::position(int rank) const {
  std::vector<FlightRecord> records = records_of(rank);
  return {.last = last_of(records), .places = places_of(std::move(records))};
}

std::string FlightBook::last_operation(int rank) const {
  const std::optional<FlightRecord> last = last_of(records_of(rank));
  return last ? last->to_string(clock_.now()) : "";
}

std::optional<std::uint64_t> FlightBook::last_begun(int rank) const {
  std::optional<std::uint64_t> last;
  for (const FlightRecord& record : records_of(rank))
    if (record.group.empty()) last = std::max(last.value_or(0), record.signature.sequence);
  return last;
}

void FlightBook::hold_at(int rank, std::optional<std::uint64_t> operation) {
  const std::lock_guard lock(mutex_);
  const auto ring = rings_.find(rank);
  if (ring != rings_.end()) ring->second->hold_at(operation);
}

void FlightBook::exit_at_next(int rank, int exit_code) {
  const std::lock_guard lock(mutex_);
  const auto ring = rings_.find(rank);
  if (ring != rings_.end()) ring->second->exit_at_next(exit_code);
}

std::optional<int> FlightBook::blamed(int rank) const {
  const std::vector<FlightRecord> records = records_of(rank);
  const auto failed = std::find_if(records.rbegin(), records.rend(), [](const auto& record) {
    return record.state == FlightState::kFailed;
  });
  if (failed == records.rend() || failed->blamed < 0 || failed->blamed == rank) return std::nullopt;
  return failed->blamed;
}

std::vector<GroupOperations> FlightBook::operations(int rank) const {
  const std::lock_guard lock(mutex_);
  const auto ring = rings_.find(rank);
  return ring == rings_.end() ? std::vector<GroupOperations>() : ring->second->operations();
}

FlightMilestones FlightBook::milestones(int rank) const {
  const std::lock_guard lock(mutex_);
  const auto ring = rings_.find(rank);
  return ring == rings_.end() ? FlightMilestones() : ring->second->milestones();
}

std::string FlightBook::answer(std::string_view key) const {
  const std::optional<int> rank = rank_of_flight_key(key);
  return rank ? last_operation(*rank) : "";
}

}  // namespace paceline::launcher
