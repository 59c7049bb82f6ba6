// CommunicatorCore, continued: what has become of an operation that is stuck or has failed, and how
// the group hears of it.
#include <algorithm>
#include <string>
#include <utility>

#include "collectives/communicator_core.h"
#include "collectives/failure/binomial_graph.h"
#include "comm/base/text.h"

namespace paceline {
namespace {

// How long an error waits for a better account of it from somebody else, and from a peer that was
// asked, who answers unless it computes.
constexpr Duration kPatience = std::chrono::milliseconds(200);
constexpr Duration kAnswerPatience = std::chrono::seconds(1);

std::string whole_seconds(Duration duration) {
  return seconds_text(std::chrono::floor<std::chrono::seconds>(duration));
}

}  // namespace

// ---- What has become of the running operation ----

// True if anything has.
bool CommunicatorCore::judge(TimePoint now) {
  // A peer's own account of what went wrong is better than what this operation shows of it.
  if (notice_ && failure_.ok()) return fail(*notice_, now), true;
  if (listen(now)) return true;
  if (!running_ || !failure_.ok()) return false;
  if (backend_->ended()) return judge_end(now);
  if (watch_.is_over(now)) return fail(timeout_error(now), now), true;
  if (watch_.round_is_due(now)) begin_inquest(now);
  if (watch_.report_is_due(now)) report_stall(now);
  return false;
}

bool CommunicatorCore::judge_end(TimePoint now) {
  if (backend_->outcome().ok()) {
    end_current({}, now);
    begin_next();
    return true;
  }
  if (await_better_account(now)) return false;
  fail(failure_of_backend(), now);
  return true;
}

// A lost peer may have said why to others, and a peer may know better what it called: for a short
// while their account is waited for.
bool CommunicatorCore::await_better_account(TimePoint now) {
  const auto disagreed = backend_->disagreement();
  const bool unclear = disagreed && !explains(*disagreed);
  if (!unclear && backend_->outcome().code() != Code::kPeerLost) return false;
  if (!stands_at_) {
    stands_at_ = now + (unclear ? kAnswerPatience : kPatience);
    if (unclear) parts_.transport->tell(disagreed->peer, MessageKind::kInquiry, own_account());
  }
  return now < *stands_at_;
}

// Is it known what this rank called in its place?
bool CommunicatorCore::explains(const Disagreement& disagreement) const {
  if (disagreement.mine) return true;
  const Signature* mine = history_.find(disagreement.theirs.sequence);
  return mine != nullptr &&
         (!disagreement.difference.empty() || !mine->is_same_call(disagreement.theirs));
}

Status CommunicatorCore::failure_of_backend() const {
  const auto disagreed = backend_->disagreement();
  if (!disagreed) return backend_->outcome();
  const Signature* mine = &current_.request().signature;
  if (disagreed->mine) {
    mine = &*disagreed->mine;
  } else if (const Signature* const called = history_.find(disagreed->theirs.sequence)) {
    mine = called;
  }
  return disagreement(disagreed->peer, *mine, disagreed->theirs, disagreed->difference);
}

Status CommunicatorCore::disagreement(int peer, const Signature& mine, const Signature& theirs,
                                      const std::string& what) const {
  return Status(Code::kMismatch, Scope::kGroup,
                name_of(peer) + " called " + theirs.to_string() + " where " +
                    name_of(group().rank) + " called " + mine.to_string() + ": " +
                    (what.empty() ? difference(theirs, mine) : what),
                member(peer));
}

Status CommunicatorCore::timeout_error(TimePoint now) {
  const std::string late = "not ended after " + seconds_text(current_.timeout);
  const auto findings = inquest_.findings();
  // Answers travel behind the data: while that moves, silence means nothing.
  if (watch_.stalled_for(now) < watch_.patience()) {
    const std::string cause =
        2 * watch_.queued() > current_.timeout
            ? "it waited " + seconds_text(watch_.queued()) +
                  " of this time for operations that were called before it; call fewer ahead, or "
                  "raise PACELINE_TIMEOUT_S"
            : std::string("it is too long for this timeout; raise PACELINE_TIMEOUT_S");
    return Status(Code::kTimeout, Scope::kGroup, late + ", although it makes progress: " + cause);
  }
  const std::string text = late + ", without progress for " +
                           whole_seconds(watch_.stalled_for(now)) + ": " + account_of_stall();
  if (findings.empty()) return Status(Code::kTimeout, Scope::kGroup, text);
  return Status(Code::kTimeout, Scope::kGroup, text, member(findings.front().rank));
}

// ---- What ranks say about themselves ----

void CommunicatorCore::told(int peer, MessageKind kind, ByteView payload) {
  if (kind == MessageKind::kNotice) {
    Status notice;
    const Status decoded = decode_notice(payload, notice);
    if (!notice_) notice_ = decoded.ok() ? notice : decoded.with_culprit(member(peer));
    return;
  }
  Result<Account> account = decode_account(payload, group().size());
  if (account.ok()) {
    heard_.push_back({peer, kind, *std::move(account)});
  } else if (!notice_) {
    notice_ = account.status().with_culprit(member(peer));
  }
}

// A message that no receive expects tells what its sender has called. Where that was something
// else, this rank might never ask for it, and who is not read from cannot tell it. Of each peer the
// first such operation is kept, and the last of its messages to this rank alone.
void CommunicatorCore::waits(int peer, const Signature& signature) {
  if (signature.sequence < history_.begun()) return compare(peer, signature);
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

// What this rank has begun since then would have met it.
void CommunicatorCore::compare(int peer, const Signature& theirs) {
  const Signature* mine = history_.find(theirs.sequence);
  if (notice_ || mine == nullptr || mine->is_same_call(theirs)) return;
  if (!is_collective(theirs.kind) && pairwise_.has_received(peer, theirs)) return;
  notice_ = disagreement(peer, *mine, theirs);
}

void CommunicatorCore::compare_early() {
  std::erase_if(early_, [this](const Early& early) {
    const bool begun = early.signature.sequence < history_.begun();
    if (begun) compare(early.peer, early.signature);
    return begun;
  });
}

bool CommunicatorCore::listen(TimePoint now) {
  bool acted = false;
  for (const Heard& heard : std::exchange(heard_, {})) acted |= hear(heard, now);
  return acted;
}

// A peer that called something else hears of it; one that is only waiting gets an answer.
bool CommunicatorCore::hear(const Heard& heard, TimePoint now) {
  const bool asks = heard.kind == MessageKind::kInquiry;
  if (!failure_.ok()) {
    if (asks) parts_.transport->tell(heard.peer, last_word_.kind, last_word_.payload);
    return false;
  }
  if (asks) parts_.transport->tell(heard.peer, MessageKind::kAnswer, own_account());
  if (const auto difference = history_.first_difference(heard.account.recent)) {
    fail(disagreement(heard.peer, difference->mine, difference->theirs), now);
    return true;
  }
  if (has_passed(heard, now)) return true;
  inquest_.heard(heard.peer, heard.account, heard.kind == MessageKind::kGoodbye);
  ask_questions();
  return false;
}

// A peer that has begun the next collective operation has no message left for what is before it:
// its account came behind all that it sent.
bool CommunicatorCore::has_passed(const Heard& heard, TimePoint now) {
  const Account& account = heard.account;
  if (!running_ || is_collective(current_.request().signature.kind)) return false;
  if (account.begun <= history_.begun() || account.recent.empty()) return false;
  const auto mine = pairwise_.awaited_with(heard.peer);
  if (!mine) return false;
  const auto is_beyond = [&](const Signature& theirs) {
    return theirs.sequence >= history_.begun();
  };
  const auto theirs = std::find_if(account.recent.begin(), account.recent.end(), is_beyond);
  if (theirs == account.recent.end()) return false;
  fail(disagreement(heard.peer, *mine, *theirs), now);
  return true;
}

// For whom it was left lying sees it coming, and says so.
Status CommunicatorCore::account_of_messages() {
  const auto is_known = [this] { return !failure_.ok(); };
  {
    const Engine::Baton baton = parts_.engine->hold();
    listen_holding(true);
  }
  if (!parts_.engine->wait(is_known, Deadline::after(clock_, kAnswerPatience))) {
    if (parts_.engine->is_stopped()) end_with_process();
    const Engine::Baton baton = parts_.engine->hold();
    fail(Status(Code::kMismatch, Scope::kGroup,
                "ranks have sent messages that no rank has received"),
         clock_.now());
  }
  return failure();
}

void CommunicatorCore::begin_inquest(TimePoint now) {
  if (parts_.whereabouts != nullptr) {
    for (const int rank : inquest_.silent()) parts_.whereabouts->look_for(rank);
  }
  watch_.begin_round(now);
  // A question to this rank may lie behind data for which it has no room.
  tell_connected(MessageKind::kAnswer, own_account());
  inquest_.begin(group().rank, current_.request().signature.sequence, backend_->awaited());
  ask_questions();
}

void CommunicatorCore::ask_questions() {
  for (const int rank : inquest_.take_questions()) {
    parts_.transport->tell(rank, MessageKind::kInquiry, own_account());
  }
}

Bytes CommunicatorCore::own_account() const {
  const std::vector<int> awaited = running_ ? backend_->awaited() : std::vector<int>();
  return encode_account({.begun = history_.begun(),
                         .running = running_,
                         .recent = history_.recent(),
                         .awaited = {awaited.begin(), awaited.end()}});
}

std::string CommunicatorCore::account_of_stall() {
  std::string account;
  for (const Inquest::Finding& finding : inquest_.findings()) {
    account += (account.empty() ? "" : "; ") + in_words(finding);
  }
  if (!account.empty()) return account;
  for (const int rank : backend_->awaited()) {
    account += (account.empty() ? "waiting for " : ", ") + name_of(rank);
  }
  return account + "; every rank that answered is in the operation";
}

std::string CommunicatorCore::in_words(const Inquest::Finding& finding) {
  if (finding.cause != Inquest::Cause::kSilent) {
    return name_of(finding.rank) + " " + finding.position;
  }
  std::string words = name_of(finding.rank) + " does not answer";
  if (parts_.whereabouts == nullptr) return words;
  const std::string seen = parts_.whereabouts->found(finding.rank);
  return seen.empty() ? words : words + " and was last in " + seen;
}

// By the ranks next to who holds them up: the others would only repeat it.
void CommunicatorCore::report_stall(TimePoint now) {
  watch_.reported(now);
  const auto findings = inquest_.findings();
  const std::vector<int> awaited = backend_->awaited();
  const auto is_next = [&awaited](const Inquest::Finding& finding) {
    return std::find(awaited.begin(), awaited.end(), finding.rank) != awaited.end();
  };
  const bool repeats = !findings.empty() && std::none_of(findings.begin(), findings.end(), is_next);
  if (parts_.log == nullptr || repeats) return;
  parts_.log->write(Severity::kWarning,
                    name_of(group().rank) + ": " + current_.request().signature.to_string() +
                        " has made no progress for " + whole_seconds(watch_.stalled_for(now)) +
                        ": " + account_of_stall());
}

// ---- The end of everything ----

void CommunicatorCore::fail(Status why, TimePoint now) {
  if (!failure_.ok()) return;
  if (running_ && why.culprit().operation.empty()) {
    const Signature& signature = current_.request().signature;
    Culprit culprit = why.culprit();
    culprit.operation = signature.to_string();
    culprit.sequence = static_cast<std::int64_t>(signature.sequence);
    why = why.with_culprit(std::move(culprit));
  }
  failure_ = std::move(why);
  spread();
  latch(failure_, now);
}

// Ends everything with it.
void CommunicatorCore::latch(Status why, TimePoint now) {
  failure_ = std::move(why);
  if (parts_.transport != nullptr) {
    parts_.transport->abort(failure_);
    keep_awake_to_flush(now);
  }
  if (running_) {
    backend_->forget_next();
    end_current(failure_, now);
  }
  for (; !queue_.empty(); queue_.pop_front()) end(queue_.front(), failure_, now);
}

Culprit CommunicatorCore::member(int rank) const {
  return {.rank = rank, .host = group().members[static_cast<std::size_t>(rank)].host};
}

std::string CommunicatorCore::name_of(int rank) const {
  return "rank " + std::to_string(rank) + " on " +
         group().members[static_cast<std::size_t>(rank)].host;
}

}  // namespace paceline
