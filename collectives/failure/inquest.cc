#include "collectives/failure/inquest.h"

#include <algorithm>
#include <utility>

namespace paceline {
namespace {

std::string last_call(const Account& account) {
  return account.recent.empty() ? "anything"
                                : "anything after " + account.recent.back().to_string();
}

}  // namespace

void Inquest::begin(int self, std::uint64_t sequence, std::span<const int> awaited) {
  self_ = self;
  sequence_ = sequence;
  asked_.clear();
  given_ = 0;
  answers_.clear();
  unasked_earlier_ = std::exchange(unasked_, {});
  follow(awaited);
}

void Inquest::follow(std::span<const int> awaited) {
  for (const int rank : awaited) {
    const bool known = std::find(asked_.begin(), asked_.end(), rank) != asked_.end();
    if (known || rank == self_ || asked_.size() >= kMaxAsked) continue;
    asked_.push_back(rank);
    const auto said = unasked_earlier_.find(rank);
    if (said != unasked_earlier_.end()) take_answer(rank, Account(said->second));
  }
}

std::vector<int> Inquest::take_questions() {
  std::vector<int> questions;
  for (; given_ < asked_.size(); ++given_) {
    if (!left_.contains(asked_[given_])) questions.push_back(asked_[given_]);
  }
  return questions;
}

void Inquest::heard(int rank, const Account& account, bool leaving) {
  if (leaving) left_.insert_or_assign(rank, account);
  if (std::find(asked_.begin(), asked_.end(), rank) != asked_.end()) {
    take_answer(rank, account);
  } else {
    unasked_.insert_or_assign(rank, account);
  }
}

void Inquest::take_answer(int rank, const Account& account) {
  answers_.insert_or_assign(rank, account);
  // A rank that is stuck in this operation or an earlier one waits for somebody else.
  if (account.running && account.begun <= sequence_ + 1) follow(account.awaited);
}

std::vector<Inquest::Finding> Inquest::findings() const {
  std::vector<Finding> findings;
  for (const int rank : asked_) {
    const auto left = left_.find(rank);
    const auto answer = answers_.find(rank);
    if (left != left_.end()) {
      findings.push_back({rank, Cause::kLeft,
                          "has left after " + std::to_string(left->second.begun) + " operations"});
    } else if (answer == answers_.end()) {
      findings.push_back({rank, Cause::kSilent, ""});
    } else if (!answer->second.running && answer->second.begun <= sequence_) {
      const bool has_called = answer->second.waits_for_device;
      findings.push_back({rank, Cause::kElsewhere,
                          has_called ? "has called it, and waits for its GPU"
                                     : "has not called " + last_call(answer->second)});
    }
  }
  return findings;
}

std::vector<int> Inquest::silent() const {
  std::vector<int> ranks;
  for (const Finding& finding : findings()) {
    if (finding.cause == Cause::kSilent) ranks.push_back(finding.rank);
  }
  return ranks;
}

}  // namespace paceline
