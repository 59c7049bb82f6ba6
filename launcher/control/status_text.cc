#include "launcher/control/status_text.h"

#include <string>
#include <vector>

#include "comm/base/clock.h"
#include "comm/base/text.h"
#include "launcher/control/hang.h"
#include "launcher/control/performance.h"
#include "launcher/control/plain_name.h"
#include "launcher/control/rank_words.h"
#include "launcher/registry/listing.h"
#include "launcher/system/text_table.h"
#include "telemetry/job/closing_lines.h"

namespace paceline::launcher {
namespace {

namespace v1 = job::v1;

using Row = std::vector<std::string>;

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

std::string hang_text(const v1::Snapshot& snapshot) {
  std::string text;
  for (const std::string& line : explain_hang(snapshot).lines) text += line + "\n";
  return text.empty() ? text : "\n" + text;
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
  text += hang_text(snapshot);
  std::vector<Row> ranks{{"RANK", "HOST", "LOCAL RANK", "PID", "STATE", "OPERATION"}};
  for (const v1::Rank& rank : snapshot.ranks())
    ranks.push_back({member_text(rank.member()), printable(rank.host()),
                     std::to_string(rank.local_rank()),
                     rank.pid() == 0 ? "" : std::to_string(rank.pid()), state_text(rank),
                     operation_text(rank.operation())});
  text += "\n" + text_table(ranks);
  for (const v1::Rank& rank : snapshot.ranks())
    if (const std::string stacks = stacks_text(rank); !stacks.empty())
      text += "\n" + member_text(rank.member()) + " on " + printable(rank.host()) + ":\n" + stacks;
  return text;
}

}  // namespace paceline::launcher
