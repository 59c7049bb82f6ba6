#include "tests/harness/calls.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "tests/harness/plan_form.h"

namespace paceline::testing {
namespace {

constexpr std::byte kNothing{0xA5};  // what nobody has written

bool can_be_in_place(OperationKind kind) {
  return kind != OperationKind::kAllToAll && kind != OperationKind::kAllToAllV &&
         kind != OperationKind::kExchange;
}

// shape.h knows the operations of all ranks.
Shape shape_of_call(const PlanRequest& request) {
  if (request.kind != OperationKind::kExchange) return shape_of(request);
  return {.input_count = request.count, .output_count = request.count};
}

std::vector<Origin> origins_of_call(const std::vector<PlanRequest>& requests, int rank) {
  const PlanRequest& own = requests[static_cast<std::size_t>(rank)];
  if (own.kind != OperationKind::kExchange) return origins_of(requests, rank);
  return {{.count = own.count, .rank = (rank + own.ranks - 1) % own.ranks}};
}

}  // namespace

Signature signature_of(const Call& call, int ranks) {
  Signature signature{.kind = call.kind};
  if (call.kind == OperationKind::kExchange) signature.count = 2;
  if (!has_elements(call.kind)) return signature;
  signature.count = call.count;
  if (call.kind == OperationKind::kAllToAllV) {
    signature.count = 0;
  } else if (has_counts(call.kind)) {
    const auto requests = uneven_requests({.kind = call.kind, .ranks = ranks, .count = call.count});
    const std::vector<std::size_t>& counts = requests.front().counts;
    signature.count = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  }
  signature.type = call.type;
  if (reduces(call.kind)) signature.op = call.op;
  if (has_root(call.kind)) signature.root = call.root;
  return signature;
}

std::array<Signature, 2> message_signatures(const Call& call, int rank, int ranks) {
  const Signature sent{.count = call.count,
                       .root = (rank + 1) % ranks,
                       .kind = OperationKind::kSend,
                       .type = call.type};
  Signature received = sent;
  received.kind = OperationKind::kReceive;
  received.root = (rank + ranks - 1) % ranks;
  return {sent, received};
}

bool Call::agrees_with(const Call& other) const {
  if (kind == OperationKind::kExchange && type != other.type) return false;
  // One rank's counts are as good as any.
  return count == other.count && signature_of(*this, 1) == signature_of(other, 1);
}

void CallMemory::assign(std::size_t bytes, std::byte value, const Call& call) {
  if (FakeDevice* const device = call.device) {
    device_ = {device->allocate(bytes), [device](std::byte* memory) { device->free(memory); }};
    bytes_ = {device->seen(device_.get()), bytes};
  } else if (call.registered) {
    registered_ = Buffer::allocate(bytes).value();
    bytes_ = {registered_.data(), bytes};
  } else {
    ordinary_.resize(bytes);
    bytes_ = ordinary_;
  }
  std::ranges::fill(bytes_, value);
}

MadeCall::MadeCall(const Call& call, std::size_t number, int rank, int ranks)
    : call_(call),
      form_{.type = call.type, .op = call.op, .number = number},
      requests_(uneven_requests({.kind = call.kind,
                                 .ranks = ranks,
                                 .root = call.root,
                                 .count = moves_elements(call.kind) ? call.count : 0})),
      rank_(rank),
      shape_(shape_of_call(request())),
      in_place_(call.kind == OperationKind::kBroadcast ||
                (call.in_place && can_be_in_place(call.kind))) {
  const std::size_t input_end = shape_.input_at + shape_.input_count;
  const std::size_t output_end = shape_.output_at + shape_.output_count;
  const std::size_t one = in_place_ ? std::max(input_end, output_end) : shape_.input_count;
  first_.assign(bytes(one) + 2 * kGuardBytes, kNothing, call);
  if (!in_place_) second_.assign(bytes(shape_.output_count) + 2 * kGuardBytes, kNothing, call);
  const Elements inputs = inputs_of(form_, rank, shape_.input_count);
  if (shape_.input_count > 0)
    std::memcpy(const_cast<std::byte*>(seen_input()), inputs.data(), bytes(shape_.input_count));
}

const std::byte* MadeCall::seen_input() const {
  if (shape_.input_count == 0) return nullptr;
  return first_.data() + kGuardBytes + (in_place_ ? bytes(shape_.input_at) : 0);
}

const std::byte* MadeCall::seen_output() const {
  if (shape_.output_count == 0) return nullptr;
  if (!in_place_) return second_.data() + kGuardBytes;
  return first_.data() + kGuardBytes + bytes(shape_.output_at);
}

const void* MadeCall::input() const {
  const std::byte* const seen = seen_input();
  return seen == nullptr ? nullptr : first_.passed(seen);
}

void* MadeCall::output() {
  const std::byte* const seen = seen_output();
  if (seen == nullptr) return nullptr;
  return (in_place_ ? first_ : second_).passed(seen);
}

std::span<const Message> MadeCall::messages() {
  const auto [sent, received] = message_signatures(call_, rank_, request().ranks);
  messages_ = {Message::sent(input(), sent.count, sent.type, sent.root),
               Message::received(output(), received.count, received.type, received.root)};
  return messages_;
}

Status MadeCall::run(Communicator& world) {
  const auto& [kind, count, type, op, root, asynchronous, in_place, registered, device] = call_;
  const ReduceRule op_and_factor = rule();
  switch (kind) {
    case OperationKind::kBarrier:
      return world.barrier();
    case OperationKind::kClose:
      return world.close();
    case OperationKind::kBroadcast:
      return world.broadcast(output(), count, type, root);
    case OperationKind::kReduce:
      return world.reduce(input(), output(), count, type, op_and_factor, root);
    case OperationKind::kAllReduce:
      return world.all_reduce(input(), output(), count, type, op_and_factor);
    case OperationKind::kReduceScatter:
      return world.reduce_scatter(input(), output(), count, type, op_and_factor);
    case OperationKind::kAllGather:
      return world.all_gather(input(), output(), count, type);
    case OperationKind::kGather:
      return world.gather(input(), output(), count, type, root);
    case OperationKind::kScatter:
      return world.scatter(input(), output(), count, type, root);
    case OperationKind::kAllToAll:
      return world.all_to_all(input(), output(), count, type);
    case OperationKind::kReduceScatterV:
      return world.reduce_scatter_v(input(), output(), counts(), type, op_and_factor);
    case OperationKind::kAllGatherV:
      return world.all_gather_v(input(), output(), counts(), type);
    case OperationKind::kGatherV:
      return world.gather_v(input(), output(), counts(), type, root);
    case OperationKind::kScatterV:
      return world.scatter_v(input(), output(), counts(), type, root);
    case OperationKind::kAllToAllV:
      return world.all_to_all_v(input(), counts(), output(), recv_counts(), type);
    case OperationKind::kExchange:
      return world.exchange(messages());
    case OperationKind::kSend:
    case OperationKind::kReceive:
      break;
  }
  return Status(Code::kInternal, Scope::kOperation, "no call of all ranks");
}

void MadeCall::start(Communicator& world) {
  const auto& [kind, count, type, op, root, asynchronous, in_place, registered, device] = call_;
  const ReduceRule op_and_factor = rule();
  switch (kind) {
    case OperationKind::kBarrier:
    case OperationKind::kClose:
      work_ = world.barrier_async();
      break;
    case OperationKind::kBroadcast:
      work_ = world.broadcast_async(output(), count, type, root);
      break;
    case OperationKind::kReduce:
      work_ = world.reduce_async(input(), output(), count, type, op_and_factor, root);
      break;
    case OperationKind::kAllReduce:
      work_ = world.all_reduce_async(input(), output(), count, type, op_and_factor);
      break;
    case OperationKind::kReduceScatter:
      work_ = world.reduce_scatter_async(input(), output(), count, type, op_and_factor);
      break;
    case OperationKind::kAllGather:
      work_ = world.all_gather_async(input(), output(), count, type);
      break;
    case OperationKind::kGather:
      work_ = world.gather_async(input(), output(), count, type, root);
      break;
    case OperationKind::kScatter:
      work_ = world.scatter_async(input(), output(), count, type, root);
      break;
    case OperationKind::kAllToAll:
      work_ = world.all_to_all_async(input(), output(), count, type);
      break;
    case OperationKind::kReduceScatterV:
      work_ = world.reduce_scatter_v_async(input(), output(), counts(), type, op_and_factor);
      break;
    case OperationKind::kAllGatherV:
      work_ = world.all_gather_v_async(input(), output(), counts(), type);
      break;
    case OperationKind::kGatherV:
      work_ = world.gather_v_async(input(), output(), counts(), type, root);
      break;
    case OperationKind::kScatterV:
      work_ = world.scatter_v_async(input(), output(), counts(), type, root);
      break;
    case OperationKind::kAllToAllV:
      work_ = world.all_to_all_v_async(input(), counts(), output(), recv_counts(), type);
      break;
    case OperationKind::kExchange:
      work_ = world.exchange_async(messages());
      break;
    case OperationKind::kSend:
    case OperationKind::kReceive:
      break;
  }
}

Status MadeCall::check(Communicator& world) {
  if (call_.asynchronous) start(world);
  const Status ended = call_.asynchronous ? wait() : run(world);
  return ended.ok() ? verdict() : ended;
}

Status MadeCall::verdict() const {
  const std::string what = wrong();
  if (what.empty()) return {};
  return Status(Code::kInternal, Scope::kOperation,
                signature_of(call_, request().ranks).to_string() + ": " + what);
}

std::string MadeCall::wrong() const {
  const std::size_t first_end = first_.size() - kGuardBytes;
  bool untouched =
      is_untouched(first_, 0, kGuardBytes) && is_untouched(first_, first_end, first_.size());
  if (!in_place_) {
    const std::size_t second_end = second_.size() - kGuardBytes;
    untouched = untouched && is_untouched(second_, 0, kGuardBytes) &&
                is_untouched(second_, second_end, second_.size());
    const Elements inputs = inputs_of(form_, rank_, std::min(shape_.input_count, kPeriod));
    if (first_other(seen_input(), shape_.input_count, inputs, 0)) return "the input has changed";
  }
  if (!untouched) return "something was written beside a buffer";
  return wrong_result();
}

std::string MadeCall::wrong_result() const {
  const std::byte* const out = seen_output();
  for (const Origin& origin : origins_of_call(requests_, rank_)) {
    const Elements right = origin.rank == Origin::kEveryRank
                               ? reduced(form_, request().ranks, kPeriod)
                               : inputs_of(form_, origin.rank, kPeriod);
    const auto other =
        first_other(out + bytes(origin.begin), origin.count, right, origin.input_begin);
    if (!other) continue;
    return "element " + std::to_string(origin.begin + *other) + " is not " +
           right.text(origin.input_begin + *other);
  }
  return {};
}

bool MadeCall::is_untouched(const CallMemory& memory, std::size_t from, std::size_t to) const {
  return std::all_of(memory.bytes().begin() + static_cast<std::ptrdiff_t>(from),
                     memory.bytes().begin() + static_cast<std::ptrdiff_t>(to),
                     [](std::byte each) { return each == kNothing; });
}

}  // namespace paceline::testing
