#include <utility>

#include <paceline/communicator.h>

#include "collectives/communicator_core.h"
#include "comm/base/argument_error.h"
#include "comm/base/text.h"

namespace paceline {
namespace {

OperationRequest request(const Signature& signature, const void* in, void* out) {
  return {.signature = signature,
          .input = static_cast<const std::byte*>(in),
          .output = static_cast<std::byte*>(out)};
}

// The same, of a kind that reduces.
OperationRequest reducing(Signature signature, const void* in, void* out, const ReduceRule& rule) {
  signature.op = rule.op();
  OperationRequest made = request(signature, in, out);
  if (rule.factor()) [[unlikely]]
    made.factor = rule.factor();
  return made;
}

OperationRequest barrier_request() { return {.signature = {.kind = OperationKind::kBarrier}}; }

OperationRequest broadcast_request(void* buffer, std::size_t count, DataType type, int root) {
  return request({.count = count, .root = root, .kind = OperationKind::kBroadcast, .type = type},
                 buffer, buffer);
}

OperationRequest reduce_request(const void* in, void* out, std::size_t count, DataType type,
                                const ReduceRule& rule, int root) {
  return reducing({.count = count, .root = root, .kind = OperationKind::kReduce, .type = type}, in,
                  out, rule);
}

OperationRequest all_reduce_request(const void* in, void* out, std::size_t count, DataType type,
                                    const ReduceRule& rule) {
  return reducing({.count = count, .kind = OperationKind::kAllReduce, .type = type}, in, out, rule);
}

OperationRequest reduce_scatter_request(const void* in, void* out, std::size_t count, DataType type,
                                        const ReduceRule& rule) {
  return reducing({.count = count, .kind = OperationKind::kReduceScatter, .type = type}, in, out,
                  rule);
}

// Of a kind that only moves blocks.
OperationRequest blocks_request(OperationKind kind, const void* in, void* out, std::size_t count,
                                DataType type, int root = -1) {
  return request({.count = count, .root = root, .kind = kind, .type = type}, in, out);
}

using Counts = std::span<const std::size_t>;

// Null unless there is one count for each rank. The call is then refused.
const std::size_t* for_each(const CommunicatorCore* core, Counts counts) {
  const std::size_t ranks = core == nullptr ? 0 : core->group().members.size();
  return counts.size() == ranks ? counts.data() : nullptr;
}

// The sum, or what no call may have.
std::uint64_t sum_of(Counts counts) {
  std::uint64_t sum = 0;
  for (const std::size_t count : counts) {
    if (__builtin_add_overflow(sum, count, &sum)) return UINT64_MAX;
  }
  return sum;
}

OperationRequest with_counts(const CommunicatorCore* core, OperationRequest request,
                             Counts counts) {
  request.signature.count = sum_of(counts);
  request.counts = for_each(core, counts);
  return request;
}

OperationRequest all_to_all_v_request(const CommunicatorCore* core, const void* in,
                                      Counts send_counts, void* out, Counts recv_counts,
                                      DataType type) {
  OperationRequest exchange = blocks_request(OperationKind::kAllToAllV, in, out, 0, type);
  exchange.counts = for_each(core, send_counts);
  exchange.recv_counts = for_each(core, recv_counts);
  return exchange;
}

OperationRequest reduce_scatter_v_request(const CommunicatorCore* core, const void* in, void* out,
                                          Counts counts, DataType type, const ReduceRule& rule) {
  OperationRequest scattered = reduce_scatter_request(in, out, 0, type, rule);
  scattered.signature.kind = OperationKind::kReduceScatterV;
  return with_counts(core, scattered, counts);
}

OperationRequest blocks_v_request(const CommunicatorCore* core, OperationKind kind, const void* in,
                                  void* out, Counts counts, DataType type, int root = -1) {
  return with_counts(core, blocks_request(kind, in, out, 0, type, root), counts);
}

OperationRequest send_request(const void* in, std::size_t count, DataType type, int peer) {
  return request({.count = count, .root = peer, .kind = OperationKind::kSend, .type = type}, in,
                 nullptr);
}

OperationRequest receive_request(void* out, std::size_t count, DataType type, int peer) {
  return request({.count = count, .root = peer, .kind = OperationKind::kReceive, .type = type},
                 nullptr, out);
}

OperationRequest messages_request(std::span<const Message> messages) {
  return {.signature = {.count = messages.size(), .kind = OperationKind::kExchange},
          .messages = messages};
}

Status moved_from() { return argument_error("this Communicator was moved from"); }

Status run(CommunicatorCore* core, OperationRequest&& request) {
  if (core == nullptr) [[unlikely]]
    return moved_from();
  return core->run(std::move(request));
}

Work start(CommunicatorCore* core, const OperationRequest& request) {
  if (core == nullptr) [[unlikely]]
    return refused_work(moved_from());
  return core->start(request);
}

}  // namespace

Communicator::Communicator(std::unique_ptr<CommunicatorCore> core) : core_(std::move(core)) {}
Communicator::Communicator(Communicator&&) noexcept = default;
Communicator& Communicator::operator=(Communicator&& other) noexcept {
  const Communicator old(std::exchange(core_, std::move(other.core_)));
  return *this;
}
// A forked child has copies of its parent's communicators and of the shared memory. It must not
// send a goodbye in the name of its parent, and must not wait for threads that it does not have. A
// signal handler that calls exit() cannot wait for the code that it has interrupted.
Communicator::~Communicator() {
  if (core_ != nullptr && core_->is_out_of_reach()) (void)core_.release();
}

int Communicator::rank() const { return group().rank; }
int Communicator::size() const { return group().size(); }
const Group& Communicator::group() const {
  static const Group none{.rank = -1};
  return core_ == nullptr ? none : core_->group();
}
CommunicatorStats Communicator::stats() const {
  return core_ == nullptr ? CommunicatorStats() : core_->stats();
}

Status Communicator::close() { return core_ == nullptr ? moved_from() : core_->close(); }
Status Communicator::set_timeout(std::chrono::milliseconds timeout) {
  return core_ == nullptr ? moved_from() : core_->set_timeout(timeout);
}
void Communicator::abort() {
  if (core_ != nullptr) core_->abort();
}
Status Communicator::failure() const {
  return core_ == nullptr ? moved_from() : core_->look_for_failure();
}

Status Communicator::wrong_length(std::size_t length, std::size_t needed) {
  return argument_error("an array has " + count_text(length, "element") + ", and must have " +
                        std::to_string(needed));
}

Status Communicator::barrier() { return run(core_.get(), barrier_request()); }

Status Communicator::broadcast(void* buffer, std::size_t count, DataType type, int root) {
  return run(core_.get(), broadcast_request(buffer, count, type, root));
}

Status Communicator::reduce(const void* in, void* out, std::size_t count, DataType type,
                            ReduceRule rule, int root) {
  return run(core_.get(), reduce_request(in, out, count, type, rule, root));
}

Status Communicator::all_reduce(const void* in, void* out, std::size_t count, DataType type,
                                ReduceRule rule) {
  return run(core_.get(), all_reduce_request(in, out, count, type, rule));
}

Status Communicator::all_reduce_many(std::span<const Tensor> tensors, DataType type,
                                     ReduceRule rule) {
  return all_reduce_many_async(tensors, type, rule).wait();
}

Work Communicator::all_reduce_many_async(std::span<const Tensor> tensors, DataType type,
                                         ReduceRule rule) {
  if (core_ == nullptr) return refused_work(moved_from());
  return core_->start_many(tensors, all_reduce_request(nullptr, nullptr, 0, type, rule));
}

Status Communicator::reduce_scatter(const void* in, void* out, std::size_t count, DataType type,
                                    ReduceRule rule) {
  return run(core_.get(), reduce_scatter_request(in, out, count, type, rule));
}

Status Communicator::all_gather(const void* in, void* out, std::size_t count, DataType type) {
  return run(core_.get(), blocks_request(OperationKind::kAllGather, in, out, count, type));
}

Status Communicator::gather(const void* in, void* out, std::size_t count, DataType type, int root) {
  return run(core_.get(), blocks_request(OperationKind::kGather, in, out, count, type, root));
}

Status Communicator::scatter(const void* in, void* out, std::size_t count, DataType type,
                             int root) {
  return run(core_.get(), blocks_request(OperationKind::kScatter, in, out, count, type, root));
}

Status Communicator::all_to_all(const void* in, void* out, std::size_t count, DataType type) {
  return run(core_.get(), blocks_request(OperationKind::kAllToAll, in, out, count, type));
}

Work Communicator::barrier_async() { return start(core_.get(), barrier_request()); }

Work Communicator::broadcast_async(void* buffer, std::size_t count, DataType type, int root) {
  return start(core_.get(), broadcast_request(buffer, count, type, root));
}

Work Communicator::reduce_async(const void* in, void* out, std::size_t count, DataType type,
                                ReduceRule rule, int root) {
  return start(core_.get(), reduce_request(in, out, count, type, rule, root));
}

Work Communicator::all_reduce_async(const void* in, void* out, std::size_t count, DataType type,
                                    ReduceRule rule) {
  return start(core_.get(), all_reduce_request(in, out, count, type, rule));
}

Work Communicator::reduce_scatter_async(const void* in, void* out, std::size_t count, DataType type,
                                        ReduceRule rule) {
  return start(core_.get(), reduce_scatter_request(in, out, count, type, rule));
}

Work Communicator::all_gather_async(const void* in, void* out, std::size_t count, DataType type) {
  return start(core_.get(), blocks_request(OperationKind::kAllGather, in, out, count, type));
}

Work Communicator::gather_async(const void* in, void* out, std::size_t count, DataType type,
                                int root) {
  return start(core_.get(), blocks_request(OperationKind::kGather, in, out, count, type, root));
}

Work Communicator::scatter_async(const void* in, void* out, std::size_t count, DataType type,
                                 int root) {
  return start(core_.get(), blocks_request(OperationKind::kScatter, in, out, count, type, root));
}

Work Communicator::all_to_all_async(const void* in, void* out, std::size_t count, DataType type) {
  return start(core_.get(), blocks_request(OperationKind::kAllToAll, in, out, count, type));
}

Status Communicator::reduce_scatter_v(const void* in, void* out, Counts counts, DataType type,
                                      ReduceRule rule) {
  return run(core_.get(), reduce_scatter_v_request(core_.get(), in, out, counts, type, rule));
}

Work Communicator::reduce_scatter_v_async(const void* in, void* out, Counts counts, DataType type,
                                          ReduceRule rule) {
  return start(core_.get(), reduce_scatter_v_request(core_.get(), in, out, counts, type, rule));
}

Status Communicator::all_gather_v(const void* in, void* out, Counts counts, DataType type) {
  return run(core_.get(),
             blocks_v_request(core_.get(), OperationKind::kAllGatherV, in, out, counts, type));
}

Work Communicator::all_gather_v_async(const void* in, void* out, Counts counts, DataType type) {
  return start(core_.get(),
               blocks_v_request(core_.get(), OperationKind::kAllGatherV, in, out, counts, type));
}

Status Communicator::gather_v(const void* in, void* out, Counts counts, DataType type, int root) {
  return run(core_.get(),
             blocks_v_request(core_.get(), OperationKind::kGatherV, in, out, counts, type, root));
}

Work Communicator::gather_v_async(const void* in, void* out, Counts counts, DataType type,
                                  int root) {
  return start(core_.get(),
               blocks_v_request(core_.get(), OperationKind::kGatherV, in, out, counts, type, root));
}

Status Communicator::scatter_v(const void* in, void* out, Counts counts, DataType type, int root) {
  return run(core_.get(),
             blocks_v_request(core_.get(), OperationKind::kScatterV, in, out, counts, type, root));
}

Work Communicator::scatter_v_async(const void* in, void* out, Counts counts, DataType type,
                                   int root) {
  return start(core_.get(), blocks_v_request(core_.get(), OperationKind::kScatterV, in, out, counts,
                                             type, root));
}

Status Communicator::all_to_all_v(const void* in, Counts send_counts, void* out, Counts recv_counts,
                                  DataType type) {
  return run(core_.get(),
             all_to_all_v_request(core_.get(), in, send_counts, out, recv_counts, type));
}

Work Communicator::all_to_all_v_async(const void* in, Counts send_counts, void* out,
                                      Counts recv_counts, DataType type) {
  return start(core_.get(),
               all_to_all_v_request(core_.get(), in, send_counts, out, recv_counts, type));
}

Status Communicator::send(const void* in, std::size_t count, DataType type, int peer) {
  return run(core_.get(), send_request(in, count, type, peer));
}

Work Communicator::send_async(const void* in, std::size_t count, DataType type, int peer) {
  return start(core_.get(), send_request(in, count, type, peer));
}

Status Communicator::receive(void* out, std::size_t count, DataType type, int peer) {
  return run(core_.get(), receive_request(out, count, type, peer));
}

Work Communicator::receive_async(void* out, std::size_t count, DataType type, int peer) {
  return start(core_.get(), receive_request(out, count, type, peer));
}

Status Communicator::exchange(std::span<const Message> messages) {
  return run(core_.get(), messages_request(messages));
}

Work Communicator::exchange_async(std::span<const Message> messages) {
  return start(core_.get(), messages_request(messages));
}

}  // namespace paceline
