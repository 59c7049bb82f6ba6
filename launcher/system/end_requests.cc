#include "launcher/system/end_requests.h"

#include <chrono>

#include <signal.h>

namespace paceline::launcher {
namespace {

// Between a resource manager's own signal and the one that a program of its passes on.
constexpr Duration kOneRequest = std::chrono::seconds(1);
// The same for SIGINT, which a person may repeat soon.
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
