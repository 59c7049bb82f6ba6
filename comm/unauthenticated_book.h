// The policy of the listeners of ranks, the store and the launcher for connections before
// authentication, and the record of those connections. (`paceline check` has its own listener.)
// Pure: neither sockets nor a clock.
//
//   may_accept() → admit() → authenticated()   the place is free at once
//                          → refused()         the place is free kMinTime after admit()
//                          → gives_way()       its place is needed by a newer connection
//                          → late()            kMaxTime has passed
//
// Places are limited. A peer that belongs to the job frees its place as soon as it has proven that,
// one or two round trips after admit(). Any other peer keeps its place taken for kMinTime, even if
// it is refused at once. After that time the oldest connection is closed when a newer one needs the
// place. So a flood of unauthenticated peers neither keeps a peer of the job out, nor costs more
// than one handshake for each place and kMinTime. A peer of the job whose connection was closed
// connects again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "comm/base/clock.h"

namespace paceline {

/// One thread.
class UnauthenticatedBook {
 public:
  /// Longer than a round trip around the world.
  static constexpr Duration kMinTime = std::chrono::milliseconds(250);
  static constexpr Duration kMaxTime = std::chrono::seconds(10);
  /// No try for this time after accept() has failed, for example without descriptors.
  static constexpr Duration kPause = std::chrono::milliseconds(100);
  /// A lack of descriptors that lasts longer is reported to the peers that connect.
  static constexpr Duration kMaxShortage = std::chrono::seconds(1);

  enum class Id : std::uint64_t {};

  explicit UnauthenticatedBook(std::size_t max_connections) : max_(max_connections) {}

  /// Changes the number of places. 0: nothing is accepted, and nothing gives way.
  void limit_to(std::size_t max_connections) { max_ = max_connections; }

  /// Is there a place for one more connection, or do others give way to it? False during the pause
  /// after a failure.
  bool may_accept(TimePoint now);
  /// All places are taken: connections that gives_way() returns must be closed before admit().
  bool is_full(TimePoint now);
  /// Ids are not used twice.
  Id admit(TimePoint now);
  void authenticated(Id id);
  void refused(Id id);
  /// The oldest connection, if it has had kMinTime.
  std::optional<Id> gives_way(TimePoint now);
  /// A connection that has had kMaxTime.
  std::optional<Id> late(TimePoint now);

  /// accept() has failed.
  void failed(TimePoint now);
  /// Has accept() failed for kMaxShortage, without a success?
  bool is_short(TimePoint now) const;

  /// When any of the answers above may change although no peer does anything; long ago if there is
  /// something to do at once. `more_wait`: there may be connections to accept.
  TimePoint wake_at(bool more_wait) const;
  /// Connections that are neither authenticated nor refused.
  std::size_t open() const { return open_; }

 private:
  struct Place {
    Id id;
    TimePoint since;
    bool is_open = true;
  };
  std::deque<Place>::iterator find(Id id);
  void free_places(TimePoint now);
  std::optional<Id> oldest_after(Duration time, TimePoint now);
  TimePoint place_at() const;

  std::size_t max_;
  std::uint64_t next_ = 0;
  std::size_t open_ = 0;
  std::deque<Place> places_;  // the oldest first
  TimePoint rest_until_ = TimePoint::min();
  std::optional<TimePoint> failing_since_;
};

}  // namespace paceline
