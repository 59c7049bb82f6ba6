// Connections to the store's TCP door that have not proven the job's key yet.
//
// There is room for kMax of them. While others wait outside, one that has been here for kGrace
// gives way to them, the oldest first: so an honest rank, whose proof takes a round trip, gets its
// turn however many hang on and say nothing. One for whom that was too short dials again.
#pragma once

#include <cstddef>
#include <list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <poll.h>

#include "comm/base/clock.h"
#include "comm/base/unique_fd.h"
#include "comm/handshake.h"
#include "comm/stranger_book.h"

namespace paceline {

class StoreStrangers {
 public:
  static constexpr std::size_t kMax = 256;
  static constexpr Duration kGrace = std::chrono::milliseconds(250);
  static constexpr Duration kPatience = std::chrono::seconds(10);  ///< where nobody waits outside

  /// One that has proven the key. `unsent` tells it so and goes before anything else.
  struct Proven {
    UniqueFd fd;
    std::string address;
    Bytes unsent;
  };

  /// Both are borrowed. Those who are refused are entered into `book`.
  StoreStrangers(const JobKey& key, StrangerBook& book) : key_(key), book_(book) {}

  /// Can one more come in at this moment, if need be in another's place?
  bool has_room(TimePoint now) const;
  /// Takes a new connection in, and challenges it.
  void admit(UniqueFd fd, TimePoint now);
  /// Drops the oldest if it has been here for kGrace; else it may be about to prove the key.
  bool drop_oldest(TimePoint now);

  std::size_t size() const { return strangers_.size(); }
  /// Appends size() entries: what to wait for.
  void append_to(std::vector<pollfd>& polled) const;
  /// Hears those of `polled` that have something to say; it begins with the entries that
  /// append_to() made. Lets go of those whose time is over.
  std::vector<Proven> drive(std::span<const pollfd> polled, TimePoint now);
  /// When drive() is due, or has_room() may change, although nobody says anything.
  TimePoint wake_at(TimePoint now) const;

 private:
  struct Stranger {
    UniqueFd fd;
    std::string address;
    AcceptorHandshake handshake;
    TimePoint came;
    Bytes incoming;
  };
  enum class Outcome { kPending, kProven, kRefused };

  Outcome hear(Stranger& stranger);
  Outcome judge(Stranger& stranger);
  void refuse_oldest(std::string_view why);

  const JobKey& key_;
  StrangerBook& book_;
  std::list<Stranger> strangers_;  // the oldest first
};

}  // namespace paceline
