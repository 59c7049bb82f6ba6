#include "collectives/stall_inquiry.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "collectives/group_members.h"
#include "collectives/last_message.h"
#include "comm/base/text.h"

namespace paceline {
namespace {

std::string whole_seconds(Duration duration) {
  return seconds_text(std::chrono::floor<std::chrono::seconds>(duration));
}

}  // namespace

std::optional<Status> StallInquiry::examine(TimePoint now) {
  if (watch_.is_over(now)) return timeout_error(now);
  if (watch_.round_is_due(now)) begin_round(now);
  if (watch_.report_is_due(now)) report(now);
  return {};
}

void StallInquiry::heard(int rank, const Account& account, bool leaving) {
  inquest_.heard(rank, account, leaving);
  ask();
}

void StallInquiry::begin_round(TimePoint now) {
  if (parts_.whereabouts != nullptr) {
    for (const int rank : inquest_.silent()) parts_.whereabouts->look_for(rank);
  }
  watch_.begin_round(now);
  // A question to this rank may wait after data for which this rank has no room.
  tell_connected(parts_.transport.get(), MessageKind::kAnswer, encode_account(queue_.account()));
  inquest_.begin(parts_.group.rank, queue_.current().signature().sequence,
                 queue_.backend().awaited());
  ask();
}

void StallInquiry::ask() {
  for (const int rank : inquest_.take_questions()) {
    parts_.transport->tell(rank, MessageKind::kInquiry, encode_account(queue_.account()));
  }
}

Status StallInquiry::timeout_error(TimePoint now) {
  const Duration timeout = queue_.current().timeout;
  const std::string late = "not ended after " + seconds_text(timeout);
  const auto findings = inquest_.findings();
  // Answers arrive after the data. While data moves, silence means nothing.
  if (watch_.stalled_for(now) < watch_.patience()) {
    const std::string cause =
        2 * watch_.queued() > timeout
            ? "it waited " + seconds_text(watch_.queued()) +
                  " of this time for operations that were called before it; call fewer ahead, or "
                  "raise PACELINE_TIMEOUT_S"
            : std::string("it is too long for this timeout; raise PACELINE_TIMEOUT_S");
    return Status(Code::kTimeout, Scope::kGroup, late + ", although it makes progress: " + cause);
  }
  const std::string text = late + ", without progress for " +
                           whole_seconds(watch_.stalled_for(now)) + ": " + account_of_stall();
  if (findings.empty()) return Status(Code::kTimeout, Scope::kGroup, text);
  return Status(Code::kTimeout, Scope::kGroup, text,
                culprit_of(parts_.group, findings.front().rank));
}

std::string StallInquiry::account_of_stall() {
  std::string account;
  for (const Inquest::Finding& finding : inquest_.findings()) {
    account += (account.empty() ? "" : "; ") + in_words(finding);
  }
  if (!account.empty()) return account;
  for (const int rank : queue_.backend().awaited()) {
    account += (account.empty() ? "waiting for " : ", ") + rank_text(parts_.group, rank);
  }
  return account + "; every rank that answered is in the operation";
}

std::string StallInquiry::in_words(const Inquest::Finding& finding) {
  const std::string name = rank_text(parts_.group, finding.rank);
  if (finding.cause != Inquest::Cause::kSilent) return name + " " + finding.position;
  const std::string words = name + " does not answer";
  if (parts_.whereabouts == nullptr) return words;
  const std::string seen = parts_.whereabouts->found(finding.rank);
  return seen.empty() ? words : words + " and was last in " + seen;
}

// Only the ranks next to the one that holds them up report: the others would repeat it.
void StallInquiry::report(TimePoint now) {
  watch_.reported(now);
  const auto findings = inquest_.findings();
  const std::vector<int> awaited = queue_.backend().awaited();
  const auto is_next = [&awaited](const Inquest::Finding& finding) {
    return std::find(awaited.begin(), awaited.end(), finding.rank) != awaited.end();
  };
  const bool repeats = !findings.empty() && std::none_of(findings.begin(), findings.end(), is_next);
  if (parts_.log == nullptr || repeats) return;
  parts_.log->write(Severity::kWarning,
                    rank_text(parts_.group, parts_.group.rank) + ": " +
                        operation_of(parts_.membership.name, queue_.current().signature()) +
                        " has made no progress for " + whole_seconds(watch_.stalled_for(now)) +
                        ": " + account_of_stall());
}

}  // namespace paceline
