#include "comm/runtime.h"

#include <utility>

#include <unistd.h>

#include "comm/base/cpus.h"
#include "comm/base/try.h"
#include "comm/job_key.h"

namespace paceline {

Result<std::shared_ptr<Runtime>> Runtime::create(Environment environment, int local_ranks) {
  auto log = make_stderr_log({.level = environment.log_level});
  PACELINE_TRY_ASSIGN(auto engine, PollEngine::create(PollEngine::options_for(
                                       local_ranks, host_cpus(environment))));
  JobKey::keep_from_children(environment);
  return std::shared_ptr<Runtime>(
      new Runtime(std::move(environment), std::move(log), std::move(engine)));
}

std::string Runtime::host_name() const {
  if (!environment_.host.empty()) return environment_.host;
  char name[256] = "";
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

std::string Runtime::shared_prefix() const {
  return "paceline-" + (environment_.job_id.empty() ? "" : environment_.job_id + "-");
}

void Runtime::set_port(std::shared_ptr<TcpPort> port) {
  const std::lock_guard lock(mutex_);
  port_ = std::move(port);
}

std::shared_ptr<TcpPort> Runtime::port() const {
  const std::lock_guard lock(mutex_);
  return port_;
}

void Runtime::note_segment(const std::shared_ptr<SharedSegment>& segment) {
  const std::lock_guard lock(mutex_);
  std::erase_if(segments_, [](const auto& one) { return one.expired(); });
  segments_.push_back(segment);
}

std::size_t Runtime::shared_bytes() const {
  const std::lock_guard lock(mutex_);
  std::size_t bytes = 0;
  for (const auto& one : segments_)
    if (const auto segment = one.lock()) bytes += segment->memory().size();
  return bytes;
}

std::unique_ptr<FlightRing> Runtime::flight_ring(const std::string& group) const {
  const std::optional<int> memory = environment_.flight_fd;
  if (!memory) return FlightRing::create_private();
  auto ring = group.empty() ? FlightRing::open(*memory) : FlightRing::open_for(*memory, group);
  if (ring.ok()) return *std::move(ring);
  if (group.empty() && log_ != nullptr)
    log_->write(Severity::kInfo,
                ring.status().text() + "; the launcher does not see this rank's operations");
  return FlightRing::create_private();
}

}  // namespace paceline
