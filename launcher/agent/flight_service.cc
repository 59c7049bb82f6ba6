#include "launcher/agent/flight_service.h"

#include <utility>

#include "comm/base/try.h"
#include "telemetry/flight_ring.h"

namespace paceline::launcher {

Status FlightService::prepare(const messages::Start& start) {
  ranks_ = {start.ranks().begin(), start.ranks().end()};
  return {};
}

Status FlightService::equip(int local_rank, RankEquipment& rank) {
  PACELINE_TRY_ASSIGN(UniqueFd memory, FlightRing::create_memory());
  PACELINE_TRY_ASSIGN(auto ring, FlightRing::open(memory.get()));
  book_->enter(static_cast<int>(ranks_[static_cast<std::size_t>(local_rank)]), std::move(ring));
  add_variable(rank.variables(), "PACELINE_FLIGHT_FD", rank.add(std::move(memory)));
  return {};
}

void FlightService::ended(const messages::ProcessExited& exited, messages::RankExited& report) {
  const int rank = static_cast<int>(exited.rank());
  report.set_last_operation(book_->last_operation(rank));
  if (const auto blamed = book_->blamed(rank))
    report.set_blamed(static_cast<std::uint32_t>(*blamed));
  const FlightMilestones milestones = book_->milestones(rank);
  report.set_joining_ns(milestones.joining_ns);
  report.set_joined_ns(milestones.joined_ns);
  report.set_first_operation_ns(milestones.first_operation_ns);
}

}  // namespace paceline::launcher
