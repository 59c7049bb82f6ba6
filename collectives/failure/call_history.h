// What this rank has called, and whether others have called the same.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "comm/account.h"
#include "comm/base/signature.h"

namespace paceline {

class CallHistory {
 public:
  /// How many operations can still be named.
  static constexpr std::size_t kRemembered = Account::kMaxRecent;

  /// Notes that an operation has begun: the one numbered begun(), with digest() as its history.
  void begin(const Signature& signature) { begin(signature, signature.next_history()); }
  /// The same of one whose next_history() is known.
  void begin(const Signature& signature, std::uint64_t next_history) {
    remembered_[begun_ % kRemembered] = signature;
    ++begun_;
    digest_ = next_history;
  }
  std::uint64_t begun() const { return begun_; }
  std::uint64_t digest() const { return digest_; }

  /// Null for what has not begun or is no longer remembered.
  const Signature* find(std::uint64_t sequence) const;
  /// Oldest first.
  std::vector<Signature> recent() const;

  struct Difference {
    Signature mine;
    Signature theirs;
  };
  /// The first of `theirs` (oldest first) that this rank called differently. Where all that can be
  /// compared is alike but what lies before is not, the first that has another history.
  std::optional<Difference> first_difference(std::span<const Signature> theirs) const;

 private:
  std::uint64_t begun_ = 0;
  std::uint64_t digest_ = 0;
  std::array<Signature, kRemembered> remembered_{};  // by sequence, modulo its size
};

}  // namespace paceline
