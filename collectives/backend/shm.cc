#include "collectives/backend/shm.h"

#include <algorithm>
#include <utility>

#include <immintrin.h>

namespace paceline {
namespace {

constexpr Duration kLook = std::chrono::milliseconds(20);
// Looks in quick succession, before each takes a pause that the sibling thread can use.
constexpr int kKeenSpins = 64;

bool is_broadcast(OperationKind kind) { return kind == OperationKind::kBroadcast; }

// Mixes all that must agree but the sequence, which the flag has anyway. Not a secret.
std::uint32_t digest_of(const Signature& signature) {
  std::uint64_t mixed = signature.history + signature.count * 0x9E3779B97F4A7C15ull;
  mixed ^= (static_cast<std::uint64_t>(static_cast<std::uint32_t>(signature.root)) << 32) |
           (static_cast<std::uint64_t>(signature.kind) << 16) |
           (static_cast<std::uint64_t>(signature.type) << 8) |
           static_cast<std::uint64_t>(signature.op);
  mixed *= 0xD6E8FEB86659FD93ull;
  mixed ^= mixed >> 32 ^ signature.plan;
  mixed *= 0xD6E8FEB86659FD93ull;
  return static_cast<std::uint32_t>(mixed >> 32);
}

}  // namespace

ShmBackend::ShmBackend(const shm::Layout& layout, std::vector<Doorbell*> bells,
                       Transport& transport, const Options& options)
    : transport_(transport),
      spins_(options.spins),
      layout_(layout),
      memory_(layout, options.rank, std::move(bells), options.registered),
      protocol_(options.rank, layout.ranks()) {}

Status ShmBackend::start(OperationRequest& request) {
  Signature& signature = request.signature;
  // Ranks that divide an operation differently would read past each other.
  signature.plan = static_cast<std::uint32_t>(layout_.chunk_bytes());
  const std::size_t element_bytes = size_of(signature.type);
  const std::size_t bytes = has_elements(signature.kind) ? signature.count * element_bytes : 0;
  const bool is_inline = bytes <= shm::kInlineBytes;
  const shm::Form form{
      .everybody = !is_broadcast(signature.kind),
      .root = std::max(signature.root, 0),
      .chunks = is_inline ? 0 : shm::chunks_of(bytes, element_bytes, layout_.chunk_bytes()),
      .digest = digest_of(signature)};
  ended_ = false;
  outcome_ = {};
  disagreement_.reset();
  look_at_ = TimePoint::max();
  memory_.begin(request, form.everybody, is_inline, protocol_.first_chunk());
  protocol_.start(form);
  advance(spins_);
  return {};
}

bool ShmBackend::drive(TimePoint now) {
  if (ended_) return false;
  if (advance(0)) {
    look_at_ = TimePoint::max();
    return true;
  }
  if (look_at_ == TimePoint::max()) look_at_ = now + kLook;
  if (now < look_at_) return false;
  look_at_ = now + kLook;
  look_after_peer();
  return ended_;
}

// True if anything moved.
bool ShmBackend::advance(int spins) {
  bool moved = false;
  while (true) {
    switch (protocol_.step(memory_)) {
      case shm::Progress::kMoved:
        moved = true;
        continue;
      case shm::Progress::kWaits:
        if (spins-- <= 0) return moved;
        if (spins_ - spins > kKeenSpins) _mm_pause();
        continue;
      case shm::Progress::kDiffers:
        differ();
        return true;
      case shm::Progress::kEnded:
        ended_ = true;
        return true;
    }
  }
}

void ShmBackend::differ() {
  ended_ = true;
  const int peer = protocol_.awaited();
  disagreement_ = {.peer = peer, .theirs = memory_.signature_of(peer, protocol_.operation())};
  outcome_ = Status(Code::kMismatch, Scope::kGroup, "ranks called different operations");
}

// What a lost rank wrote before is still there, and may be all that was waited for.
void ShmBackend::look_after_peer() {
  for (const int rank : awaited()) {
    const Status loss = transport_.loss(rank);
    if (loss.ok()) continue;
    if (advance(0)) return;
    ended_ = true;
    outcome_ = loss;
    return;
  }
}

std::vector<int> ShmBackend::awaited() const {
  return ended_ ? std::vector<int>() : protocol_.holding_up(memory_);
}

}  // namespace paceline
