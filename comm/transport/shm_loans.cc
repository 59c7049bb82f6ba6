#include "comm/transport/shm_loans.h"

#include <algorithm>
#include <utility>

#include "comm/base/assert.h"
#include "comm/base/long_copy.h"
#include "comm/base/try.h"

namespace paceline {
namespace {

Status lies_nowhere() {
  return Status(Code::kUnavailable, Scope::kPeer,
                "malformed message: its data is outside of the buffers of its sender");
}

}  // namespace

std::optional<Loan> ShmLoans::lend(std::span<const std::byte> payload, Request& request) {
  if (own_ == nullptr || payload.size() < kLeastBytes) return {};
  const auto place = own_->place_of(payload.data(), payload.size());
  if (!place || !own_->retain(*place)) return {};
  lent_.push_back({*place, payload, &request});
  return Loan{.place = *place, .bytes = payload.size()};
}

bool ShmLoans::collect() {
  const std::uint64_t returned = ends_.ours.returned.load(std::memory_order_acquire);
  const bool moved = collected_ < returned && has_lent();
  while (collected_ < returned && has_lent()) {
    ++collected_;
    end_oldest({});
  }
  return moved;
}

void ShmLoans::revoke(const Status& why) {
  collect();
  ends_.ours.revoked.store(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  while (has_lent()) end_oldest(why);
}

void ShmLoans::end_oldest(const Status& how) {
  const Lent oldest = lent_.front();
  lent_.pop_front();
  own_->release(oldest.place);
  oldest.request->end(how);
}

bool ShmLoans::help() {
  const std::span<const std::byte> payload = lent_.front().payload;
  if (payload.size() < SplitCopy::kLeastBytes) return false;
  SplitCopy copy(ends_.ours.split, collected_ + 1, payload.size());
  const std::optional<std::uint64_t> target = copy.target();
  if (!target || view_ == nullptr || !view_->has(*target, payload.size())) return false;
  std::size_t helped = 0;
  while (helped < kTurnBytes) {
    const std::optional<SplitPiece> piece = copy.claim_from_back();
    if (!piece) break;
    long_copy(view_->at(*target + piece->begin), payload.data() + piece->begin, piece->bytes,
              payload.size());
    copy.add_written();
    helped += piece->bytes;
  }
  if (helped > 0) ends_.bell.ring();
  return helped > 0;
}

Result<Lender::Progress> ShmLoans::copy_some(const Loan& loan, std::span<std::byte> to) {
  if (!reaches(loan)) return lies_nowhere();
  if (!borrowing_) begin_copy(to);
  const Progress progress = borrowing_->split ? copy_pieces(loan, to) : copy_alone(loan, to);
  PACELINE_TRY(look_for_revoked());
  return progress;
}

Status ShmLoans::copy_rest(const Loan& loan, std::span<std::byte> to) {
  if (!reaches(loan)) return lies_nowhere();
  end_copy();
  long_copy(to.data(), view_->at(loan.place), to.size(), to.size());
  return look_for_revoked();
}

void ShmLoans::begin_copy(std::span<std::byte> to) {
  borrowing_.emplace();
  // A sender that has something to copy from here does that.
  if (!ends_.may_split || has_lent() || to.size() < SplitCopy::kLeastBytes) return;
  const auto target = own_->place_of(to.data(), to.size());
  if (!target || !own_->retain(*target)) return;
  borrowing_->target = *target;
  borrowing_->split.emplace(ends_.theirs.split, given_back_ + 1, to.size()).open(*target);
}

Lender::Progress ShmLoans::copy_alone(const Loan& loan, std::span<std::byte> to) {
  std::size_t& copied = borrowing_->copied;
  const std::size_t bytes = std::min(kTurnBytes, to.size() - copied);
  long_copy(to.data() + copied, view_->at(loan.place + copied), bytes, to.size());
  copied += bytes;
  return copied == to.size() ? Progress::kDone : Progress::kMoved;
}

Lender::Progress ShmLoans::copy_pieces(const Loan& loan, std::span<std::byte> to) {
  SplitCopy& split = *borrowing_->split;
  for (std::size_t copied = 0; copied < kTurnBytes;) {
    const std::optional<SplitPiece> piece = split.claim();
    if (!piece && split.is_written()) return Progress::kDone;
    if (!piece) return copied > 0 ? Progress::kMoved : Progress::kWaits;
    long_copy(to.data() + piece->begin, view_->at(loan.place + piece->begin), piece->bytes,
              to.size());
    copied += piece->bytes;
  }
  return Progress::kMoved;
}

// Behind it the sender does not write to where the loan is copied.
void ShmLoans::end_copy() {
  if (!borrowing_) return;
  const Borrowing ended = *std::exchange(borrowing_, {});
  if (!ended.split) return;
  SplitCopy split = *ended.split;
  split.close();
  if (!split.is_written()) {
    const Status left = own_->leave_behind(ended.target, split.bytes());
    PACELINE_ASSERT(left.ok());  // it must not go on with memory that somebody else writes
  }
  own_->release(ended.target);
}

void ShmLoans::give_back() {
  end_copy();
  ends_.theirs.returned.store(++given_back_, std::memory_order_release);
  ends_.bell.ring();
}

bool ShmLoans::reaches(const Loan& loan) const {
  return view_ != nullptr && view_->has(loan.place, loan.bytes);
}

Status ShmLoans::look_for_revoked() const {
  std::atomic_thread_fence(std::memory_order_acquire);
  if (ends_.theirs.revoked.load(std::memory_order_relaxed) == 0) return {};
  return Status(Code::kPeerLost, Scope::kGroup,
                "the rank withdrew its message while this rank read it");
}

}  // namespace paceline
