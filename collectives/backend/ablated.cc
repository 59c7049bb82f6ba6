#include "collectives/backend/ablated.h"

#include <algorithm>
#include <cstring>

#include "collectives/backend/plan_request.h"

namespace paceline {
namespace {

// Elements [from, from + available) of the input to [to, to + count) of the output; zeros follow.
struct FilledBlock {
  std::size_t from = 0, available = 0, to = 0, count = 0;
};

void fill(const OperationRequest& request, const FilledBlock& block) {
  const std::size_t element = size_of(request.signature.type);
  const std::size_t bytes = std::min(block.available, block.count) * element;
  const std::size_t all = block.count * element;
  if (all == 0) return;
  std::byte* const to = request.output + block.to * element;
  if (bytes > 0) std::memmove(to, request.input + block.from * element, bytes);
  std::memset(to + bytes, 0, all - bytes);
}

bool has_blocks_of_all(OperationKind kind) {
  switch (kind) {
    case OperationKind::kAllGather:
    case OperationKind::kAllGatherV:
    case OperationKind::kGather:
    case OperationKind::kGatherV:
    case OperationKind::kAllToAll:
    case OperationKind::kAllToAllV:
      return true;
    default:
      return false;
  }
}

bool is_all_to_all(OperationKind kind) {
  return kind == OperationKind::kAllToAll || kind == OperationKind::kAllToAllV;
}

}  // namespace

Status AblatedBackend::start(OperationRequest& request) {
  request_ = &request;
  if (is_collective(request.signature.kind)) request.set_plan(0);
  return {};
}

bool AblatedBackend::linger(const Clock& clock, TimePoint& now) {
  const OperationKind kind = request_->signature.kind;
  if (!is_collective(kind))
    answer_messages();
  else if (kind != OperationKind::kBarrier && kind != OperationKind::kBroadcast)
    answer_collective();
  now = clock.now();
  return true;
}

void AblatedBackend::answer_collective() const {
  const PlanRequest plan = plan_request(*request_, rank_, ranks_);
  const Shape shape = shape_of(plan);
  if (!has_blocks_of_all(plan.kind)) {
    // Where input and output are the same array, both elements are the same.
    const std::size_t from = shape.output_at - shape.input_at;
    return fill(*request_, {.from = from,
                            .available = shape.input_count == 0 ? 0 : shape.input_count - from,
                            .to = 0,
                            .count = shape.output_count});
  }
  if (shape.output_count == 0) return;
  const Part own = is_all_to_all(plan.kind) ? block_of(plan, rank_) : Part{0, shape.input_count};
  std::size_t to = 0;
  for (int rank = 0; rank < ranks_; ++rank) {
    const auto place = static_cast<std::size_t>(rank);
    const std::size_t count = !has_counts(plan.kind)     ? plan.count
                              : plan.recv_counts.empty() ? plan.counts[place]
                                                         : plan.recv_counts[place];
    fill(*request_, {.from = own.offset, .available = own.count, .to = to, .count = count});
    to += count;
  }
}

// The k-th message to this rank itself matches its k-th receive from itself.
void AblatedBackend::answer_messages() const {
  const Signature& call = request_->signature;
  if (call.kind == OperationKind::kReceive)
    return fill(*request_, {.count = static_cast<std::size_t>(call.count)});
  auto sent = request_->messages.begin();
  for (const Message& message : request_->messages) {
    const std::size_t bytes = message.count * size_of(message.type);
    if (message.is_sent || bytes == 0) continue;
    if (message.peer != rank_) {
      std::memset(message.out, 0, bytes);
      continue;
    }
    sent = std::find_if(sent, request_->messages.end(), [this](const Message& one) {
      return one.is_sent && one.peer == rank_ && one.count > 0;
    });
    std::memcpy(message.out, sent->in, bytes);
    ++sent;
  }
}

}  // namespace paceline
