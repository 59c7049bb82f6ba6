#include "launcher/tools/measure/probe/loop/turns.h"

#include <string>
#include <utility>

#include "comm/base/try.h"
#include "launcher/tools/measure/probe/loop/sleep_on_word.h"

namespace paceline::probe {
namespace {

constexpr Duration kLongestTurn = std::chrono::seconds(120);  // longer than anybody's turn takes

// In each every contender has one turn.
std::uint32_t lap_of(const TurnPlace& place, std::size_t size, int round) {
  return static_cast<std::uint32_t>(size) * static_cast<std::uint32_t>(place.rounds + 1) +
         static_cast<std::uint32_t>(round - kPreparation);
}

}  // namespace

std::uint32_t turn_of(const TurnPlace& place, std::size_t size, int round) {
  const std::uint32_t lap = lap_of(place, size, round);
  const auto contenders = static_cast<std::uint32_t>(place.contenders);
  const auto own = static_cast<std::uint32_t>(place.contender);
  return lap * contenders + (own + contenders - lap % contenders) % contenders;
}

Result<Turns> Turns::open(const std::string& path, const TurnPlace& place, const Clock& clock) {
  PACELINE_TRY_ASSIGN(SharedFile file, SharedFile::open(path, sizeof(std::uint32_t)));
  return Turns(std::move(file), place, clock);
}

Status Turns::await(std::size_t size, int round) {
  return await_turn(turn_of(place_, size, round));
}

Status Turns::await_end(std::size_t sizes) {
  return await_turn(lap_of(place_, sizes, kPreparation) *
                    static_cast<std::uint32_t>(place_.contenders));
}

Status Turns::await_turn(std::uint32_t own) {
  std::uint32_t seen = now();
  Deadline deadline = Deadline::after(*clock_, kLongestTurn);
  while (seen != own) {
    if (deadline.passed(clock_->now()))
      return Status(Code::kTimeout, Scope::kProcess, "the next turn did not begin within 120 s");
    sleep_while(word(), seen);
    if (const std::uint32_t next = now(); next != seen) {
      seen = next;
      deadline = Deadline::after(*clock_, kLongestTurn);
    }
  }
  return Status();
}

void Turns::pass_on() {
  word().fetch_add(1, std::memory_order_acq_rel);
  wake_all(word());
}

}  // namespace paceline::probe
