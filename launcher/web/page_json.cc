#include "launcher/web/page_json.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <utility>

#include <nlohmann/json.hpp>

#include "launcher/control/plain_name.h"

namespace paceline::launcher {
namespace {

namespace v1 = job::v1;
using Json = nlohmann::ordered_json;

// A message repeats events of the last seconds, and the newest ones.
constexpr std::size_t kRepeatedEvents = 20;
constexpr double kRepeatedS = 10;

Json json_of(const v1::Work& work) {
  return {{"steps", work.steps()},
          {"samples", work.samples()},
          {"compute", work.compute_seconds()},
          {"communication", work.communication_seconds()},
          {"input", work.input_seconds()},
          {"other", work.other_seconds()},
          {"running", work.running_seconds()},
          {"queued", work.queued_seconds()},
          {"stopped", work.stopped_seconds()},
          {"blocked", work.blocked_seconds()},
          {"throttled", work.throttled_seconds()},
          {"faults", work.major_faults()},
          {"resident", work.resident_bytes()}};
}

// Null: unknown.
template <class Message, class Value>
Json known(const Message& from, bool (Message::*has)() const, Value (Message::*value)() const) {
  return (from.*has)() ? Json((from.*value)()) : Json(nullptr);
}

Json json_of(const v1::HostUse& use) {
  using Use = v1::HostUse;
  return {{"cpus", known(use, &Use::has_cpus, &Use::cpus)},
          {"busy", known(use, &Use::has_cpu_seconds, &Use::cpu_seconds)},
          {"memory", known(use, &Use::has_memory_bytes, &Use::memory_bytes)},
          {"available", known(use, &Use::has_available_memory_bytes, &Use::available_memory_bytes)},
          {"cpu_stalled", known(use, &Use::has_cpu_stalled_seconds, &Use::cpu_stalled_seconds)},
          {"memory_stalled",
           known(use, &Use::has_memory_stalled_seconds, &Use::memory_stalled_seconds)},
          {"io_stalled", known(use, &Use::has_io_stalled_seconds, &Use::io_stalled_seconds)},
          {"read", known(use, &Use::has_read_bytes, &Use::read_bytes)},
          {"written", known(use, &Use::has_written_bytes, &Use::written_bytes)},
          {"at", use.time_seconds()},
          {"received", known(use, &Use::has_received_bytes, &Use::received_bytes)},
          {"sent", known(use, &Use::has_sent_bytes, &Use::sent_bytes)}};
}

Json json_of(const v1::Gpu& gpu) {
  using v1::Gpu;
  return {{"number", gpu.number()},
          {"name", gpu.name()},
          {"busy", known(gpu, &Gpu::has_busy_ratio, &Gpu::busy_ratio)},
          {"memory", known(gpu, &Gpu::has_memory_bytes, &Gpu::memory_bytes)},
          {"used", known(gpu, &Gpu::has_used_memory_bytes, &Gpu::used_memory_bytes)},
          {"power", known(gpu, &Gpu::has_power_watts, &Gpu::power_watts)},
          {"clock", known(gpu, &Gpu::has_sm_clock_hertz, &Gpu::sm_clock_hertz)},
          {"temperature", known(gpu, &Gpu::has_temperature_celsius, &Gpu::temperature_celsius)},
          {"uncorrected", known(gpu, &Gpu::has_uncorrected_errors, &Gpu::uncorrected_errors)},
          {"limits", gpu.clock_limits()}};
}

Json json_of(const v1::Host& host) {
  Json made = {
      {"name", host.name()},
      {"silent", known(host, &v1::Host::has_seconds_since_heard, &v1::Host::seconds_since_heard)},
      {"clock_error",
       known(host, &v1::Host::has_clock_error_seconds, &v1::Host::clock_error_seconds)},
      {"gpus", Json::array()}};
  if (host.has_use()) made["use"] = json_of(host.use());
  for (const v1::Gpu& gpu : host.gpus()) made["gpus"].push_back(json_of(gpu));
  return made;
}

Json json_of(const v1::Rank& rank) {
  Json made = {{"host", rank.host()},
               {"state", rank.state() == v1::Rank::STATE_RUNNING ? "running"
                         : rank.state() == v1::Rank::STATE_ENDED ? "ended"
                                                                 : "waiting"},
               {"end", rank.end()}};
  if (rank.has_operation())
    made["operation"] = {{"name", rank.operation().name()},
                         {"running", rank.operation().running()},
                         {"seconds", rank.operation().seconds()}};
  if (rank.has_work()) made["work"] = json_of(rank.work());
  return made;
}

Json json_of(const v1::Performance& performance) {
  Json made = {{"steps", performance.steps()},
               {"has_steps", performance.has_steps()},
               {"seconds", performance.seconds()},
               {"samples_per_s", performance.samples_per_second()},
               {"flop_per_s", performance.flop_per_second()},
               {"mfu", known(performance, &v1::Performance::has_mfu, &v1::Performance::mfu)}};
  for (const v1::TimeShare& share : performance.shares())
    made["shares"][share.name()] = share.share();
  made["waited_for"] = Json::array();
  for (const v1::WaitedFor& one : performance.waited_for())
    made["waited_for"].push_back(
        {{"rank", one.member().index()}, {"share", one.share()}, {"cause", one.cause()}});
  made["operations"] = Json::array();
  for (const v1::OperationTotal& one : performance.operations())
    made["operations"].push_back({{"communicator", one.communicator()},
                                  {"kind", one.kind()},
                                  {"ranks", one.rank_count()},
                                  {"count", one.count()},
                                  {"bytes", one.bytes()},
                                  {"seconds", one.seconds()},
                                  {"exposed", one.exposed_seconds()}});
  made["links"] = Json::array();
  for (const v1::Link& link : performance.links())
    made["links"].push_back({{"from", link.from()},
                             {"to", link.to()},
                             {"bytes", link.bytes()},
                             {"resent", link.resent_bytes()},
                             {"busy", link.busy_seconds()},
                             {"usual", link.usual_rate()}});
  return made;
}

Json json_of(const v1::Snapshot& snapshot) {
  Json hosts = Json::array();
  for (const v1::Host& host : snapshot.hosts()) hosts.push_back(json_of(host));
  Json ranks = Json::array();
  for (const v1::Rank& rank : snapshot.ranks()) ranks.push_back(json_of(rank));
  Json made = {{"id", snapshot.job_id()},
               {"command", snapshot.command()},
               {"version", snapshot.paceline_version()},
               {"phase", phase_text(snapshot.phase())},
               {"elapsed", snapshot.elapsed_seconds()},
               {"start", snapshot.epoch() + 1},
               {"hosts", std::move(hosts)},
               {"ranks", std::move(ranks)}};
  if (snapshot.has_performance()) made["performance"] = json_of(snapshot.performance());
  if (snapshot.has_exit_code()) made["exit_code"] = snapshot.exit_code();
  return made;
}

Json json_of(const JobHistory::Point& point) {
  return {{"until", point.until},
          {"seconds", point.seconds},
          {"spent", point.spent},
          {"samples", point.samples}};
}

// The newest `count` of them.
Json json_of(const std::deque<JobHistory::Event>& events, std::size_t count) {
  Json made = Json::array();
  for (std::size_t i = events.size() - std::min(count, events.size()); i < events.size(); ++i)
    made.push_back({{"number", events[i].number}, {"at", events[i].at}, {"text", events[i].text}});
  return made;
}

// Text that is not UTF-8 cannot be in a snapshot, but JSON must never fail.
std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string first_message(const v1::Snapshot& snapshot, const JobHistory& history) {
  Json points = Json::array();
  for (const JobHistory::Point& point : history.points()) points.push_back(json_of(point));
  return line_of({{"job", json_of(snapshot)},
                  {"points", std::move(points)},
                  {"events", json_of(history.events(), history.events().size())}});
}

std::string next_message(const v1::Snapshot& snapshot, const JobHistory& history) {
  const auto recent = std::ranges::count_if(history.events(), [&](const JobHistory::Event& event) {
    return event.at > snapshot.elapsed_seconds() - kRepeatedS;
  });
  const std::size_t repeated = std::max(kRepeatedEvents, static_cast<std::size_t>(recent));
  Json made = {{"job", json_of(snapshot)}, {"events", json_of(history.events(), repeated)}};
  if (!history.points().empty()) made["point"] = json_of(history.points().back());
  return line_of(made);
}

}  // namespace paceline::launcher
