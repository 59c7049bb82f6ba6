// What the dashboard shows of the past of a job: how the time of its steps divided, and what
// happened. Bounded. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "launcher/proto/job_v1.pb.h"
#include "telemetry/job/job_account.h"

namespace paceline::launcher {

class JobHistory {
 public:
  static constexpr std::size_t kMostPoints = 600;
  static constexpr std::size_t kMostEvents = 200;

  /// The time between two snapshots, or between several: neighbours are merged when there are too
  /// many.
  struct Point {
    double until = 0;                     ///< seconds since the start of the job
    double seconds = 0;                   ///< its length
    std::array<double, kSpents> spent{};  ///< by Spent: seconds, means over ranks
    double samples = 0;                   ///< of all ranks
  };
  struct Event {
    std::uint64_t number = 0;  ///< from 0 on
    double at = 0;             ///< seconds since the start of the job
    std::string text;
  };

  /// The next snapshot of the job.
  void take(const job::v1::Snapshot& snapshot);

  /// The oldest first.
  const std::vector<Point>& points() const { return points_; }
  const std::deque<Event>& events() const { return events_; }

 private:
  void add_point(const job::v1::Snapshot& snapshot);
  void add_events(const job::v1::Snapshot& snapshot);
  void add_event(double at, std::string text);

  std::vector<Point> points_;
  std::deque<Event> events_;
  std::uint64_t event_count_ = 0;
  bool has_begun_ = false;
  job::v1::Snapshot last_;
};

}  // namespace paceline::launcher
