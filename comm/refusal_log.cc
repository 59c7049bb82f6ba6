#include "comm/refusal_log.h"

#include <algorithm>

#include "telemetry/log.h"

namespace paceline {
namespace {

// "10.0.0.7:4000" and "[::1]:4000" without the port; what has none stays as it is.
std::string host_of(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon + 1 == address.size()) return address;
  const bool port = std::all_of(address.begin() + static_cast<std::ptrdiff_t>(colon) + 1,
                                address.end(), [](char c) { return c >= '0' && c <= '9'; });
  return port ? address.substr(0, colon) : address;
}

}  // namespace

RefusalLog::RefusalLog(std::shared_ptr<Log> log, std::string listener)
    : log_(std::move(log)), listener_(std::move(listener)) {}

void RefusalLog::refused(const std::string& peer, std::string_view why) {
  log_once(peer, why);
  count_.fetch_add(1, std::memory_order_release);  // a thread that sees the count finds the line
}

void RefusalLog::cannot_accept(std::string_view why) {
  if (std::exchange(said_cannot_accept_, true) || log_ == nullptr) return;
  log_->write(Severity::kWarning, listener_ + ": cannot accept connections: " + std::string(why) +
                                      "; retries until it succeeds");
}

void RefusalLog::log_once(const std::string& peer, std::string_view why) {
  if (log_ == nullptr || seen_.size() >= kMaxRemembered) return;
  if (!seen_.emplace(host_of(peer), why).second) return;
  log_->write(Severity::kWarning,
              listener_ + ": refused " + peer + ": " + std::string(why) +
                  (seen_.size() < kMaxRemembered
                       ? " (repetitions are only counted)"
                       : " (max number of such warnings; all later refusals are only counted)"));
}

}  // namespace paceline
