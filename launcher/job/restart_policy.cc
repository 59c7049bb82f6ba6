#include "launcher/job/restart_policy.h"

#include <algorithm>

#include "comm/base/text.h"

namespace paceline::launcher {

// All reports of the start before have come.
void RestartPolicy::began(TimePoint now) {
  without_progress_ = made_progress() ? 0 : without_progress_ + 1;
  began_ = now;
  joins_ = false;
  operates_ = false;
}

void RestartPolicy::rank_ended(const messages::RankExited& exited) {
  joins_ = joins_ || exited.joining_ns() != 0;
  operates_ = operates_ || exited.first_operation_ns() != 0;
}

std::optional<std::string> RestartPolicy::refusal(TimePoint now) {
  if (rules_.max_restarts == 0) return "";
  const bool has_window = rules_.window > Duration::zero();
  while (has_window && !restarts_.empty() && now - restarts_.front() >= rules_.window)
    restarts_.pop_front();
  if (restarts_.size() >= static_cast<std::size_t>(rules_.max_restarts))
    return "; no restart is left of " + std::to_string(rules_.max_restarts) +
           (has_window ? " in " + seconds_text(rules_.window) : "");
  // Of this start some reports are still to come.
  const int without_progress = without_progress_ + (made_progress() ? 0 : 1);
  if (!operates_ && without_progress >= kMaxWithoutProgress)
    return "; no restart: no progress, " + std::to_string(kMaxWithoutProgress) +
           " starts in a row ended before the first operation";
  return std::nullopt;
}

std::string RestartPolicy::announcement(TimePoint now, Duration least) {
  const bool was_long = now - began_ >= kLongStart;
  const Duration longest = std::max(rules_.delay, kMaxDelay);
  delay_ = was_long || delay_ == Duration::zero() ? rules_.delay : std::min(2 * delay_, longest);
  restarts_.push_back(now);
  std::string text =
      "restart " + std::to_string(restarts_.size()) + " of " + std::to_string(rules_.max_restarts);
  const Duration wait = std::max(delay_, least);
  if (wait > Duration::zero()) text += " in " + seconds_text(wait);
  return text;
}

}  // namespace paceline::launcher
