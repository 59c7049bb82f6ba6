#include "launcher/agent/rank_report.h"

#include <cstdint>

namespace paceline::launcher {

messages::RankExited rank_report(const messages::ProcessExited& exited, const FlightBook& flights) {
  messages::RankExited report;
  report.set_rank(exited.rank());
  report.set_wait_status(exited.wait_status());
  report.set_time_ns(exited.time_ns());
  report.set_peak_memory_kib(exited.peak_memory_kib());
  const int rank = static_cast<int>(exited.rank());
  report.set_last_operation(flights.last_operation(rank));
  if (const auto blamed = flights.blamed(rank))
    report.set_blamed(static_cast<std::uint32_t>(*blamed));
  const FlightMilestones milestones = flights.milestones(rank);
  report.set_joining_ns(milestones.joining_ns);
  report.set_joined_ns(milestones.joined_ns);
  report.set_first_operation_ns(milestones.first_operation_ns);
  return report;
}

}  // namespace paceline::launcher
