// Whose turn it is among programs that measure in turn, all of them alive: a virtual machine's CPUs
// change their distance from one moment to the next, and what is compared has to lie within
// milliseconds.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <paceline/status.h>

#include "comm/base/clock.h"
#include "launcher/tools/measure/probe/loop/shared_file.h"

namespace paceline::probe {

/// Where a program stands among those that measure as often and the same sizes as it does.
struct TurnPlace {
  int contender = 0;
  int contenders = 1;
  int rounds = 1;  ///< at each size
};
/// Before the rounds of a size there is one in which everybody prepares.
inline constexpr int kPreparation = -1;

/// The number of a turn, from 0. Each round begins with another contender, and of three or more
/// none has two turns in a row, which would find its caches warm. Pure.
std::uint32_t turn_of(const TurnPlace& place, std::size_t size, int round);

/// A word that all share: rank 0 of each program waits for it and passes it on.
class Turns {
 public:
  /// `path` is the same file for all, of zeros at first; `clock` is borrowed.
  static Result<Turns> open(const std::string& path, const TurnPlace& place, const Clock& clock);

  /// Sleeps until it is this program's turn. The deadline is two minutes after the last sign of
  /// life of whoever has the turn.
  Status await(std::size_t size, int round);
  /// Until all have had all turns of so many sizes.
  Status await_end(std::size_t sizes);
  void pass_on();
  /// Which one is under way.
  std::uint32_t now() const { return word().load(std::memory_order_acquire); }

 private:
  Status await_turn(std::uint32_t own);
  Turns(SharedFile file, const TurnPlace& place, const Clock& clock)
      : file_(std::move(file)), place_(place), clock_(&clock) {}
  std::atomic<std::uint32_t>& word() const {
    return *reinterpret_cast<std::atomic<std::uint32_t>*>(file_.memory().data());
  }

  SharedFile file_;
  TurnPlace place_;
  const Clock* clock_;
};

}  // namespace paceline::probe
