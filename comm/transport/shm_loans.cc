#include "comm/transport/shm_loans.h"

#include "comm/base/long_copy.h"

namespace paceline {

std::optional<Loan> ShmLoans::lend(std::span<const std::byte> payload, Request& request) {
  if (own_ == nullptr || payload.size() < kLeastBytes) return {};
  const auto place = own_->place_of(payload.data(), payload.size());
  if (!place || !own_->retain(*place)) return {};
  lent_.push_back({*place, &request});
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

Status ShmLoans::copy(const Loan& loan, std::uint64_t place, std::span<std::byte> to) {
  if (view_ == nullptr || !view_->has(place, to.size()))
    return Status(Code::kUnavailable, Scope::kPeer, "malformed message: its data lies nowhere");
  long_copy(to.data(), view_->at(place), to.size(), loan.bytes);
  std::atomic_thread_fence(std::memory_order_acquire);
  if (ends_.theirs.revoked.load(std::memory_order_relaxed) == 0) return {};
  return Status(Code::kPeerLost, Scope::kGroup, "the rank gave up while its message was read");
}

void ShmLoans::give_back() {
  ends_.theirs.returned.store(++given_back_, std::memory_order_release);
  ends_.bell.ring();
}

}  // namespace paceline
