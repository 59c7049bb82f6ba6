// A meeting in shared memory: for ranks of one host, which have one clock.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "comm/base/clock.h"
#include "launcher/tools/measure/probe/loop/meeting.h"
#include "launcher/tools/measure/probe/loop/patience.h"
#include "launcher/tools/measure/probe/loop/shared_file.h"

namespace paceline::probe {

/// Waits by pausing (where each rank has a CPU), yielding, and then sleeping, so that a rank that
/// waits long leaves the CPU to those that it waits for.
class SharedMeeting final : public Meeting {
 public:
  struct Place {
    int rank = 0;
    int ranks = 1;
    int cpus = 1;
  };
  /// A word with a cache line of its own.
  struct alignas(64) Line {
    std::atomic<std::uint32_t> value{0};
  };

  /// `path` is the same file for all; `clock` is borrowed.
  static Result<std::unique_ptr<SharedMeeting>> open(const std::string& path, Place place,
                                                     const Clock& clock);

  Status meet() override;
  /// As meet(), for ranks that will wait while other programs measure. They sleep at once: where
  /// a CPU has 4 of each program and a change of process takes 8 us, yielding goes on for tens of
  /// ms.
  Status meet_asleep();
  Result<std::vector<std::int64_t>> share(std::span<const std::int64_t> own) override;
  bool has_one_clock() const override { return true; }

  const Place& place() const { return place_; }
  const Patience& patience() const { return patience_; }
  /// Two lines for whoever measures how long a word takes; zero at first.
  std::array<Line, 2>& lines() { return head_->lines; }

 private:
  struct Head {
    Line arrived;
    Line round;  // how often all have met
    Line sleepers;
    std::array<Line, 2> lines;
  };

  SharedMeeting(SharedFile file, Place place, const Clock& clock);
  /// The round to wait past; none where this rank came last.
  std::optional<std::uint32_t> arrive();
  Status sleep_until_past(std::uint32_t round);
  std::int64_t* row(int rank) const { return rows_ + static_cast<std::size_t>(rank) * kMaxShared; }

  const SharedFile file_;
  const Place place_;
  const Clock& clock_;
  const Patience patience_;
  Head* head_;
  std::int64_t* rows_;
};

}  // namespace paceline::probe
