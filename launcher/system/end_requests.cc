#include "launcher/system/end_requests.h"

#include <chrono>

#include <signal.h>

namespace paceline::launcher {
namespace {

// Between a resource manager's own signal and the one that a program of its passes on.
constexpr Duration kOneRequest = std::chrono::seconds(1);

}  // namespace

EndRequests::Meaning EndRequests::came(int signal, TimePoint now, bool is_ending) {
  const bool is_interrupt = signal == SIGINT;
  if (first_)
    return is_interrupt || now - *first_ > kOneRequest ? Meaning::kKill : Meaning::kNothing;
  first_ = now;
  if (!is_ending) return Meaning::kStop;
  return is_interrupt && !came_elsewhere_ ? Meaning::kKill : Meaning::kNothing;
}

}  // namespace paceline::launcher
