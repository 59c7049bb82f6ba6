#include "launcher/control/status_text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "comm/base/clock.h"
#include "comm/base/text.h"
#include "launcher/control/performance.h"
#include "launcher/control/plain_name.h"
#include "launcher/registry/listing.h"
#include "launcher/system/text_table.h"
#include "telemetry/job/closing_lines.h"

namespace paceline::launcher {
namespace {

namespace v1 = job::v1;

// Agents send a message each second.
constexpr double kSilentSeconds = 3;

using Row = std::vector<std::string>;

std::string member_text(const v1::Member& member) {
  return printable(member.role()) + " " + std::to_string(member.index());
}

std::string cause_text(const v1::Snapshot& snapshot) {
  if (snapshot.cause() == v1::CAUSE_UNSPECIFIED) return "";
  const std::string culprit = snapshot.has_culprit() ? ": " + member_text(snapshot.culprit()) : "";
  return "; cause: " + plain_name(v1::Cause_Name(snapshot.cause())) + culprit;
}

std::string silence_text(const v1::Host& host) {
  if (!host.has_seconds_since_heard() || host.phase() == v1::Host::PHASE_FINISHED ||
      host.seconds_since_heard() < kSilentSeconds)
    return "";
  return "silent for " + elapsed_text(std::chrono::duration_cast<Duration>(
                             std::chrono::duration<double>(host.seconds_since_heard())));
}

std::string state_text(const v1::Rank& rank) {
  if (!rank.end().empty()) return printable(rank.end());
  return plain_name(v1::Rank::State_Name(rank.state()));
}

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", seconds);
  return text;
}

// "barrier #3, running for 5.2 s", "barrier #3, ended 5.2 s ago"
std::string operation_text(const v1::Rank& rank) {
  if (rank.operation().name().empty()) return "";
  const v1::Operation& operation = rank.operation();
  const std::string lasts = seconds_text(operation.seconds());
  return printable(operation.name()) +
         (operation.running() ? ", running for " + lasts : ", ended " + lasts + " ago");
}

// "3 ranks wait in barrier #3 for 5.2 s; rank 1 has not called it": of the operation in which most
// ranks wait for long.
std::string wait_text(const v1::Snapshot& snapshot) {
  constexpr double kLong = 2;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<const v1::Operation*>> waiting;
  for (const v1::Rank& rank : snapshot.ranks()) {
    const v1::Operation& operation = rank.operation();
    if (operation.running() && operation.collective() && operation.seconds() >= kLong)
      waiting[{operation.group(), operation.sequence()}].push_back(&operation);
  }
  const auto most =
      std::ranges::max_element(waiting, {}, [](const auto& entry) { return entry.second.size(); });
  if (most == waiting.end()) return "";
  const auto [group, sequence] = most->first;
  std::string late;
  std::size_t count = 0;
  for (const v1::Rank& rank : snapshot.ranks()) {
    const v1::Operation& operation = rank.operation();
    const bool is_of_group = operation.name().empty() || operation.group() == group;
    if (!rank.has_operation() || !is_of_group) continue;
    if (!operation.name().empty() && operation.sequence() >= sequence) continue;
    late.append(late.empty() ? "" : ", ").append(member_text(rank.member()));
    ++count;
  }
  const std::size_t ranks = most->second.size();
  const v1::Operation& awaited = *most->second.front();
  std::string text = "\n" + std::to_string(ranks) +
                     (ranks == 1 ? " rank waits in " : " ranks wait in ") +
                     printable(awaited.name()) + " for " + seconds_text(awaited.seconds());
  if (count > 0) text += "; " + late + (count == 1 ? " has not called it" : " have not called it");
  return text + "\n";
}

std::string speed_text(const v1::Snapshot& snapshot) {
  if (!snapshot.has_performance()) return "";
  std::vector<std::string> hosts;
  for (const v1::Rank& rank : snapshot.ranks()) hosts.push_back(printable(rank.host()));
  std::string text;
  for (const std::string& line :
       closing_lines(summary_of(snapshot.performance(), snapshot.ranks_size()), hosts, {}))
    text += "\n" + line;
  return text.empty() ? text : text + "\n";
}

}  // namespace

std::string status_text(const v1::Snapshot& snapshot) {
  const Duration elapsed = std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>(snapshot.elapsed_seconds()));
  std::string text = "job " + printable(snapshot.job_id()) + ": " + phase_text(snapshot.phase()) +
                     cause_text(snapshot) + "\nafter " + elapsed_text(elapsed) + ": " +
                     shown_command(snapshot) + "\n";
  if (snapshot.has_exit_code()) text += "exit code " + std::to_string(snapshot.exit_code()) + "\n";
  std::vector<Row> hosts{{"HOST", "PHASE", ""}};
  for (const v1::Host& host : snapshot.hosts())
    hosts.push_back({printable(host.name()), plain_name(v1::Host::Phase_Name(host.phase())),
                     silence_text(host)});
  text += "\n" + text_table(hosts);
  if (snapshot.ranks().empty()) return text;
  text += speed_text(snapshot);
  text += wait_text(snapshot);
  std::vector<Row> ranks{{"RANK", "HOST", "LOCAL RANK", "PID", "STATE", "OPERATION"}};
  for (const v1::Rank& rank : snapshot.ranks())
    ranks.push_back({member_text(rank.member()), printable(rank.host()),
                     std::to_string(rank.local_rank()),
                     rank.pid() == 0 ? "" : std::to_string(rank.pid()), state_text(rank),
                     operation_text(rank)});
  return text + "\n" + text_table(ranks);
}

}  // namespace paceline::launcher
