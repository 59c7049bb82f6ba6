// Why does an operation not end? A rank that is stuck asks the ranks it waits for, then those that
// they wait for, and so on; who does not answer, or answers from elsewhere, holds up the others.
//
//   0 waits for 1 waits for 2 waits for 3, which does not answer: 0 names 3.
//
// A value: it neither sends nor reads a clock. Its owner delivers questions and accounts.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "comm/account.h"

namespace paceline {

class Inquest {
 public:
  /// Ranks that one round asks at most: on a long chain those next to the culprit name it, and
  /// their notice comes.
  static constexpr std::size_t kMaxAsked = 64;

  /// Begins a round about this rank's operation number `sequence`, which waits for `awaited`. What
  /// was answered in earlier rounds is forgotten, but not who has left, and what was said unasked
  /// counts for one round more: whoever said it is stuck itself, and may not see the question.
  void begin(int self, std::uint64_t sequence, std::span<const int> awaited);
  /// The ranks to be asked now; each is given once a round.
  std::vector<int> take_questions();
  /// Takes what `rank` says about itself; with `leaving` it is its last word.
  void heard(int rank, const Account& account, bool leaving);

  enum class Cause { kSilent, kElsewhere, kLeft };
  struct Finding {
    int rank;
    Cause cause;
    std::string position;  ///< "has not called anything after barrier #3"; empty if it is silent
  };
  /// In the order in which the chain leads to them. Empty: all that were asked are in the
  /// operation too and wait for each other.
  std::vector<Finding> findings() const;
  /// The silent ones of the findings.
  std::vector<int> silent() const;

 private:
  void follow(std::span<const int> awaited);
  void take_answer(int rank, const Account& account);

  int self_ = -1;
  std::uint64_t sequence_ = 0;
  std::vector<int> asked_;  // in the order of the chain
  std::size_t given_ = 0;   // of asked_, by take_questions()
  std::map<int, Account> answers_;
  std::map<int, Account> unasked_;          // since the round began
  std::map<int, Account> unasked_earlier_;  // in the round before
  std::map<int, Account> left_;
};

}  // namespace paceline
