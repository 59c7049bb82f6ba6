// How far the clock of this host is ahead of another one's, and how wrong that may be. Pure.
//
// This host asks the other one for its time. The answer is of some moment between the question and
// its arrival, so half of the round trip bounds the error (F. Cristian, "Probabilistic clock
// synchronization", Distributed Computing 3, 1989). All round trips together bound it more closely:
// the quickest question and the quickest answer may be of different ones. Clocks drift, so what a
// round trip says becomes less exact with time.
//
//   ClockAlignment clock;
//   clock.take({.asked = asked, .told = told, .answered = clock_of_this_host.now()});
//   clock.estimate(now)->ahead;  // within ->error of the truth
#pragma once

#include <cstddef>
#include <deque>
#include <optional>

#include "comm/base/clock.h"

namespace paceline {

class ClockAlignment {
 public:
  static constexpr std::size_t kMostExchanges = 64;  ///< the latest; about one a second
  /// Max difference of the rates of two clocks: twice that of RFC 5905, 15 ppm a clock.
  static constexpr double kDrift = 30e-6;

  struct Exchange {
    TimePoint asked{};     ///< by the clock of this host
    TimePoint told{};      ///< by the clock of the other one
    TimePoint answered{};  ///< by the clock of this host
  };
  struct Estimate {
    Duration ahead{};
    Duration error{};  ///< the truth is ahead ± error

    bool operator==(const Estimate&) const = default;
  };

  /// An answer before its question does not count.
  void take(const Exchange& exchange);
  /// None: there was no exchange.
  std::optional<Estimate> estimate(TimePoint now) const;
  std::size_t exchanges() const { return exchanges_.size(); }

 private:
  struct Bounds {
    Duration least{}, most{};  // of what this clock is ahead
  };
  static Bounds bounds_of(const Exchange& one, TimePoint now);

  std::deque<Exchange> exchanges_;
};

}  // namespace paceline
