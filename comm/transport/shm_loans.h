// Long messages of a pair of ranks whose data stays where it is, in a buffer of the sender's
// (comm/memory_domain.h): through the ring goes where it lies, and the receiver copies it from
// there when it is asked for. Where that is into a buffer, too, a sender that waits helps
// (split_copy.h).
//
// A sender that gives up says so before its memory is used again, and a receiver looks for that
// behind its copies: what it has read before was still the message (a sequence lock; see Boehm,
// "Can Seqlocks Get Along with Programming Language Memory Models?", 2012). A receiver that gives
// up while its sender is at a piece leaves the buffer's pages behind: what the sender still writes
// is not seen there.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <paceline/status.h>

#include "comm/arena_view.h"
#include "comm/doorbell.h"
#include "comm/memory_domain.h"
#include "comm/transport.h"
#include "comm/transport/shm_area.h"
#include "comm/transport/stream_inbox.h"
#include "comm/wire.h"

namespace paceline {

class ShmLoans final : public Lender {
 public:
  /// Shorter ones go through the ring, where they wait for nobody as long as there is room.
  static constexpr std::size_t kLeastBytes = 32 * 1024;

  struct Ends {
    ShmArea::LoanLine& ours;    // what this rank has lent
    ShmArea::LoanLine& theirs;  // what it has borrowed
    Ringer bell;                // the other side's
    bool may_split = true;      // a sender that waits keeps no receiver from its CPU
  };
  /// `own` and `view` are null where nothing is lent.
  ShmLoans(const Ends& ends, MemoryDomain* own, std::shared_ptr<const ArenaView> view)
      : ends_(ends), own_(own), view_(std::move(view)) {}

  /// The request ends once the data has been copied. Nothing where it lies in no buffer, or is
  /// short.
  std::optional<Loan> lend(std::span<const std::byte> payload, Request& request);
  bool has_lent() const { return !lent_.empty(); }
  /// Ends the requests of what has come back; true if there were any.
  bool collect();
  /// For good: what is still lent is no longer there, and its requests end with `why`. What has
  /// come back ends well: a peer may return a loan and leave between two looks at it.
  void revoke(const Status& why);

  /// As a sender: copies some of the oldest for its receiver, where that is open; true if it did.
  bool help();

  Result<Progress> copy_some(const Loan& loan, std::span<std::byte> to) override;
  Status copy_rest(const Loan& loan, std::span<std::byte> to) override;
  void give_back() override;

 private:
  // Between two looks at everything else.
  static constexpr std::size_t kTurnBytes = std::size_t{1} << 20;

  struct Lent {
    std::uint64_t place;
    std::span<const std::byte> payload;
    Request* request;
  };
  void end_oldest(const Status& how);

  // The copy of the oldest that is borrowed.
  struct Borrowing {
    Borrowing() {}           // optional::emplace() of clang 14 does not find a default one
    std::size_t copied = 0;  // from the front, where it is not split
    std::optional<SplitCopy> split{};  // where it is
    std::uint64_t target = 0;          // of that, in the own arena
  };
  void begin_copy(std::span<std::byte> to);
  Progress copy_alone(const Loan& loan, std::span<std::byte> to);
  Progress copy_pieces(const Loan& loan, std::span<std::byte> to);
  void end_copy();
  bool reaches(const Loan& loan) const;
  Status look_for_revoked() const;

  const Ends ends_;
  MemoryDomain* const own_;
  const std::shared_ptr<const ArenaView> view_;  // owners: all that reach it
  std::deque<Lent> lent_;
  std::uint64_t collected_ = 0;
  std::optional<Borrowing> borrowing_;
  std::uint64_t given_back_ = 0;
};

}  // namespace paceline
