#include "launcher/system/end_requests.h"

#include <chrono>

#include <signal.h>

namespace paceline::launcher {
namespace {

// The max time between the signal of a resource manager and its repetition by a program that passes
// it on.
constexpr Duration kOneRequest = std::chrono::seconds(1);
// The same limit for SIGINT, which a user may repeat soon.
constexpr Duration kOneInterrupt = std::chrono::milliseconds(200);

}  // namespace

EndRequests::Meaning EndRequests::came(int signal, TimePoint now, bool is_ending) {
  const bool is_interrupt = signal == SIGINT;
  const bool is_first = first_.empty();
  const auto [same, is_new] = first_.emplace(signal, now);
  if (!is_new) {
    const Duration one_request = is_interrupt ? kOneInterrupt : kOneRequest;
    return now - same->second > one_request ? Meaning::kKill : Meaning::kNothing;
  }
  if (!is_ending) return Meaning::kStop;
  return is_interrupt && is_first && !came_elsewhere_ ? Meaning::kKill : Meaning::kNothing;
}

}  // namespace paceline::launcher
