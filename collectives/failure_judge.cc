#include "collectives/failure_judge.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "collectives/group_members.h"

namespace paceline {
namespace {

// How long the error of a lost peer waits for a better account of it.
constexpr Duration kPatience = std::chrono::milliseconds(200);

}  // namespace

std::optional<Status> FailureJudge::verdict(TimePoint now) {
  if (!failure_.ok()) return {};
  if (notice_) return seen_from_here(*notice_);
  while (!heard_.empty()) {
    const Heard heard = std::move(heard_.front());
    heard_.pop_front();
    if (std::optional<Status> error = hear(heard)) return error;
  }
  if (!queue_.is_running()) return {};
  return queue_.backend().ended() ? error_of_operation(now) : stall_.examine(now);
}

// If a connection ends between two ranks that live, each has lost the other. A rank that is told of
// its own loss names the rank that it has lost.
Status FailureJudge::seen_from_here(const Status& notice) const {
  const Group& group = parts_.group;
  if (notice.code() != Code::kPeerLost || notice.culprit().rank != group.rank) return notice;
  for (int rank = 0; rank < group.size(); ++rank) {
    if (rank == group.rank) continue;
    const Status loss = parts_.transport->loss(rank);
    if (!loss.ok()) return loss;
  }
  return notice;
}

std::vector<int> FailureJudge::take_inquirers() {
  std::vector<int> inquirers;
  for (; !heard_.empty(); heard_.pop_front()) {
    if (heard_.front().kind == MessageKind::kInquiry) inquirers.push_back(heard_.front().peer);
  }
  return inquirers;
}

// ---- What ranks say about themselves ----

void FailureJudge::told(int peer, MessageKind kind, ByteView payload) {
  const auto blamed = [&](const Status& why) {
    return why.with_culprit(culprit_of(parts_.group, peer));
  };
  if (kind == MessageKind::kNotice) {
    Status notice;
    const Status decoded = decode_notice(payload, notice);
    if (!notice_) notice_ = decoded.ok() ? notice : blamed(decoded);
    return;
  }
  Result<Account> account = decode_account(payload, parts_.group.size());
  if (account.ok()) {
    heard_.push_back() = {peer, kind, *std::move(account)};
  } else if (!notice_) {
    notice_ = blamed(account.status());
  }
}

// A message that no receive expects tells what its sender has called. If that was something else,
// this rank might never ask for it, and a peer that is not read from cannot tell it. Of each peer
// the first such operation is kept, and the last of its messages to this rank alone.
void FailureJudge::waits(int peer, const Signature& signature) {
  if (signature.sequence < queue_.history().begun()) return compare(peer, signature);
  const bool is_shared = is_collective(signature.kind);
  const auto is_like = [&](const Early& early) {
    return early.peer == peer && is_collective(early.signature.kind) == is_shared;
  };
  const auto found = std::find_if(early_.begin(), early_.end(), is_like);
  if (found == early_.end()) {
    early_.push_back({peer, signature});
  } else if (!is_shared) {
    found->signature = signature;
  }
}

// An operation that has begun since then would have received the message.
void FailureJudge::compare(int peer, const Signature& theirs) {
  const Signature* mine = queue_.history().find(theirs.sequence);
  if (notice_ || mine == nullptr || mine->is_same_call(theirs)) return;
  if (!is_collective(theirs.kind) && queue_.pairwise().has_received(peer, theirs)) return;
  notice_ = disagreement(peer, *mine, theirs);
}

void FailureJudge::compare_early() {
  std::erase_if(early_, [this](const Early& early) {
    const bool begun = early.signature.sequence < queue_.history().begun();
    if (begun) compare(early.peer, early.signature);
    return begun;
  });
}

// A peer that called something else hears of it; one that is only waiting gets an answer.
std::optional<Status> FailureJudge::hear(const Heard& heard) {
  if (heard.kind == MessageKind::kInquiry)
    parts_.transport->tell(heard.peer, MessageKind::kAnswer, encode_account(queue_.account()));
  if (const auto difference = queue_.history().first_difference(heard.account.recent))
    return disagreement(heard.peer, difference->mine, difference->theirs);
  if (std::optional<Status> passed = passed_by(heard)) return passed;
  stall_.heard(heard.peer, heard.account, heard.kind == MessageKind::kGoodbye);
  return {};
}

// A peer that has begun the next collective operation has no message left for what is before it:
// its account arrived after all data that it sent.
std::optional<Status> FailureJudge::passed_by(const Heard& heard) const {
  const Account& account = heard.account;
  const std::uint64_t begun = queue_.history().begun();
  if (!queue_.is_running() || is_collective(queue_.current().signature().kind)) return {};
  if (account.begun <= begun || account.recent.empty()) return {};
  const auto mine = queue_.pairwise().awaited_with(heard.peer);
  if (!mine) return {};
  const auto is_beyond = [&](const Signature& theirs) { return theirs.sequence >= begun; };
  const auto theirs = std::find_if(account.recent.begin(), account.recent.end(), is_beyond);
  if (theirs == account.recent.end()) return {};
  return disagreement(heard.peer, *mine, *theirs);
}

// ---- What the running operation shows ----

std::optional<Status> FailureJudge::error_of_operation(TimePoint now) {
  if (queue_.backend().outcome().ok() || await_better_account(now)) return {};
  return failure_of_backend();
}

// A lost peer may have told others why, and a peer may know better what it called: for a short
// while their account is waited for.
bool FailureJudge::await_better_account(TimePoint now) {
  const auto disagreed = queue_.backend().disagreement();
  const bool unclear = disagreed && !explains(*disagreed);
  if (!unclear && queue_.backend().outcome().code() != Code::kPeerLost) return false;
  if (!decide_at_) {
    decide_at_ = now + (unclear ? kAnswerPatience : kPatience);
    if (unclear)
      parts_.transport->tell(disagreed->peer, MessageKind::kInquiry,
                             encode_account(queue_.account()));
  }
  return now < *decide_at_;
}

// Is it known what this rank called in its place?
bool FailureJudge::explains(const Disagreement& disagreement) const {
  if (disagreement.mine) return true;
  const Signature* mine = queue_.history().find(disagreement.theirs.sequence);
  return mine != nullptr &&
         (!disagreement.difference.empty() || !mine->is_same_call(disagreement.theirs));
}

Status FailureJudge::failure_of_backend() const {
  const auto disagreed = queue_.backend().disagreement();
  if (!disagreed) return queue_.backend().outcome();
  const Signature* mine = &queue_.current().signature();
  if (disagreed->mine) {
    mine = &*disagreed->mine;
  } else if (const Signature* const called = queue_.history().find(disagreed->theirs.sequence)) {
    mine = called;
  }
  return disagreement(disagreed->peer, *mine, disagreed->theirs, disagreed->difference);
}

Status FailureJudge::disagreement(int peer, const Signature& mine, const Signature& theirs,
                                  const std::string& what) const {
  return Status(Code::kMismatch, Scope::kGroup,
                rank_text(parts_.group, peer) + " called " + theirs.to_string() + " where " +
                    rank_text(parts_.group, parts_.group.rank) + " called " + mine.to_string() +
                    ": " + (what.empty() ? difference(theirs, mine) : what),
                culprit_of(parts_.group, peer));
}

}  // namespace paceline
