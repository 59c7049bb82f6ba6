#include "collectives/failure/call_history.h"

#include <algorithm>

namespace paceline {

const Signature* CallHistory::find(std::uint64_t sequence) const {
  const bool known = sequence < begun_ && begun_ - sequence <= kRemembered;
  return known ? &remembered_[sequence % kRemembered] : nullptr;
}

std::vector<Signature> CallHistory::recent() const {
  std::vector<Signature> signatures;
  const std::uint64_t count = std::min<std::uint64_t>(begun_, kRemembered);
  for (std::uint64_t sequence = begun_ - count; sequence < begun_; ++sequence) {
    signatures.push_back(*find(sequence));
  }
  return signatures;
}

std::optional<CallHistory::Difference> CallHistory::first_difference(
    std::span<const Signature> theirs) const {
  std::optional<Difference> another_past;
  for (const Signature& signature : theirs) {
    const Signature* mine = find(signature.sequence);
    if (mine == nullptr || *mine == signature) continue;
    if (!mine->is_same_call(signature)) return Difference{*mine, signature};
    if (!another_past) another_past = Difference{*mine, signature};
  }
  return another_past;
}

}  // namespace paceline
