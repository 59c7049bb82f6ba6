#include "launcher/tools/measure/probe/loop/rank.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

#include "comm/base/clock.h"
#include "comm/base/cpus.h"
#include "comm/base/environment.h"
#include "comm/base/try.h"
#include "launcher/tools/measure/probe/loop/limit.h"
#include "launcher/tools/measure/probe/loop/measurement.h"
#include "launcher/tools/measure/probe/loop/shared_meeting.h"
#include "launcher/tools/measure/probe/loop/subject_meeting.h"
#include "launcher/tools/measure/probe/loop/turns.h"

namespace paceline::probe {
namespace {

constexpr const char* kWithoutMeeting =
    "paceline-probe: no shared file for synchronisation; ranks start with the library's own "
    "barrier, and the time of an operation is the longest of all ranks\n";

void print(const Row& row) {
  std::puts(to_line(row).c_str());
  std::fflush(stdout);
}

Status measure_sizes(Measurement& measurement, const Orders& orders, bool prints) {
  for (const std::size_t bytes : orders.sizes()) {
    PACELINE_TRY_ASSIGN(const Row row, measurement.measure(bytes));
    if (prints) print(row);
  }
  return Status();
}

void say(const char* word) {
  std::puts(word);
  std::fflush(stdout);
}

Status take_turn(Measurement& measurement, std::size_t bytes, int round, bool prints) {
  if (round == kPreparation) {
    PACELINE_TRY(measurement.prepare(bytes));
    if (prints) say(kPrepared);
    return Status();
  }
  PACELINE_TRY(measurement.warm_up());
  PACELINE_TRY_ASSIGN(const Row row, measurement.measure());
  if (prints) print(row);
  return Status();
}

// Rank 0 waits for the turns; the others wait for rank 0, asleep.
Status measure_in_turn(Measurement& measurement, const Orders& orders, SharedMeeting& meeting,
                       const Clock& clock) {
  const bool leads = meeting.place().rank == 0;
  const TurnPlace among{
      .contender = orders.contender, .contenders = orders.contenders, .rounds = orders.rounds};
  PACELINE_TRY_ASSIGN(Turns turns, Turns::open(orders.turns, among, clock));
  PACELINE_TRY(meeting.meet());
  if (leads) say(kReady);
  const std::vector<std::size_t> sizes = orders.sizes();
  for (std::size_t size = 0; size < sizes.size(); ++size) {
    for (int round = kPreparation; round < orders.rounds; ++round) {
      if (leads) PACELINE_TRY(turns.await(size, round));
      PACELINE_TRY(meeting.meet_asleep());
      PACELINE_TRY(take_turn(measurement, sizes[size], round, leads));
      if (leads) turns.pass_on();
    }
  }
  // Ending keeps a CPU busy.
  if (leads) PACELINE_TRY(turns.await_end(sizes.size()));
  return meeting.meet_asleep();
}

Status measure_with_limits(Measurement& measurement, const Orders& orders, SharedMeeting& meeting,
                           const Clock& clock) {
  const auto [rank, ranks, cpus] = meeting.place();
  const Operation& operation = *find_operation(orders.operation);
  const int copiers = std::min(ranks, cpus);
  Machine machine;
  PACELINE_TRY_ASSIGN(machine.flag_ns, measure_flag_ns(meeting, clock));
  for (const std::size_t bytes : orders.sizes()) {
    PACELINE_TRY_ASSIGN(Row row, measurement.measure(bytes));
    if (row.bytes > 0) {
      PACELINE_TRY_ASSIGN(machine.bytes_per_ns, measurement.copy_bytes_per_ns(row.bytes, copiers));
    }
    row.limit_ns = limit_ns(operation, row.bytes, ranks, machine);
    if (rank == 0) print(row);
  }
  return Status();
}

}  // namespace

Status measure_all(Subject& subject, const Orders& orders) {
  const SystemClock clock;
  if (orders.meeting.empty()) {
    if (subject.rank() == 0) std::fputs(kWithoutMeeting, stderr);
    SubjectMeeting meeting(subject);
    PACELINE_TRY_ASSIGN(
        const auto measurement,
        Measurement::create({.subject = subject, .meeting = meeting, .clock = clock}, orders));
    return measure_sizes(*measurement, orders, subject.rank() == 0);
  }
  PACELINE_TRY_ASSIGN(const Environment environment, read_environment());
  const SharedMeeting::Place place{.rank = subject.rank(),
                                   .ranks = subject.size(),
                                   .cpus = allowed_cpus(host_cpus(environment))};
  PACELINE_TRY_ASSIGN(const auto meeting, SharedMeeting::open(orders.meeting, place, clock));
  PACELINE_TRY_ASSIGN(
      const auto measurement,
      Measurement::create({.subject = subject, .meeting = *meeting, .clock = clock}, orders));
  if (!orders.turns.empty()) return measure_in_turn(*measurement, orders, *meeting, clock);
  if (!orders.limits) return measure_sizes(*measurement, orders, place.rank == 0);
  return measure_with_limits(*measurement, orders, *meeting, clock);
}

}  // namespace paceline::probe
