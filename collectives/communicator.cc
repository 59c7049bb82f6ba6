#include <paceline/communicator.h>

#include "collectives/communicator_core.h"

namespace paceline {
namespace {

OperationRequest request(const Signature& signature, const void* in, void* out) {
  return {.signature = signature,
          .input = static_cast<const std::byte*>(in),
          .output = static_cast<std::byte*>(out)};
}

OperationRequest barrier_request() { return {.signature = {.kind = OperationKind::kBarrier}}; }

OperationRequest broadcast_request(void* buffer, std::size_t count, DataType type, int root) {
  return request({.count = count, .root = root, .kind = OperationKind::kBroadcast, .type = type},
                 buffer, buffer);
}

OperationRequest reduce_request(const void* in, void* out, std::size_t count, DataType type,
                                ReduceOp op, int root) {
  return request(
      {.count = count, .root = root, .kind = OperationKind::kReduce, .type = type, .op = op}, in,
      out);
}

OperationRequest all_reduce_request(const void* in, void* out, std::size_t count, DataType type,
                                    ReduceOp op) {
  return request({.count = count, .kind = OperationKind::kAllReduce, .type = type, .op = op}, in,
                 out);
}

OperationRequest reduce_scatter_request(const void* in, void* out, std::size_t count, DataType type,
                                        ReduceOp op) {
  return request({.count = count, .kind = OperationKind::kReduceScatter, .type = type, .op = op},
                 in, out);
}

// Of a kind that only moves blocks.
OperationRequest blocks_request(OperationKind kind, const void* in, void* out, std::size_t count,
                                DataType type, int root = -1) {
  return request({.count = count, .root = root, .kind = kind, .type = type}, in, out);
}

}  // namespace

Communicator::Communicator(std::unique_ptr<CommunicatorCore> core) : core_(std::move(core)) {}
Communicator::Communicator(Communicator&&) noexcept = default;
Communicator& Communicator::operator=(Communicator&&) noexcept = default;
Communicator::~Communicator() = default;

int Communicator::rank() const { return core_->group().rank; }
int Communicator::size() const { return core_->group().size(); }
const Group& Communicator::group() const { return core_->group(); }
CommunicatorStats Communicator::stats() const { return core_->stats(); }

Status Communicator::close() { return core_->close(); }
void Communicator::abort() { core_->abort(); }
Status Communicator::failure() const { return core_->failure(); }

Status Communicator::barrier() { return core_->run(barrier_request()); }

Status Communicator::broadcast(void* buffer, std::size_t count, DataType type, int root) {
  return core_->run(broadcast_request(buffer, count, type, root));
}

Status Communicator::reduce(const void* in, void* out, std::size_t count, DataType type,
                            ReduceOp op, int root) {
  return core_->run(reduce_request(in, out, count, type, op, root));
}

Status Communicator::all_reduce(const void* in, void* out, std::size_t count, DataType type,
                                ReduceOp op) {
  return core_->run(all_reduce_request(in, out, count, type, op));
}

Status Communicator::reduce_scatter(const void* in, void* out, std::size_t count, DataType type,
                                    ReduceOp op) {
  return core_->run(reduce_scatter_request(in, out, count, type, op));
}

Status Communicator::all_gather(const void* in, void* out, std::size_t count, DataType type) {
  return core_->run(blocks_request(OperationKind::kAllGather, in, out, count, type));
}

Status Communicator::gather(const void* in, void* out, std::size_t count, DataType type, int root) {
  return core_->run(blocks_request(OperationKind::kGather, in, out, count, type, root));
}

Status Communicator::scatter(const void* in, void* out, std::size_t count, DataType type,
                             int root) {
  return core_->run(blocks_request(OperationKind::kScatter, in, out, count, type, root));
}

Status Communicator::all_to_all(const void* in, void* out, std::size_t count, DataType type) {
  return core_->run(blocks_request(OperationKind::kAllToAll, in, out, count, type));
}

Work Communicator::barrier_async() { return core_->start(barrier_request()); }

Work Communicator::broadcast_async(void* buffer, std::size_t count, DataType type, int root) {
  return core_->start(broadcast_request(buffer, count, type, root));
}

Work Communicator::reduce_async(const void* in, void* out, std::size_t count, DataType type,
                                ReduceOp op, int root) {
  return core_->start(reduce_request(in, out, count, type, op, root));
}

Work Communicator::all_reduce_async(const void* in, void* out, std::size_t count, DataType type,
                                    ReduceOp op) {
  return core_->start(all_reduce_request(in, out, count, type, op));
}

Work Communicator::reduce_scatter_async(const void* in, void* out, std::size_t count, DataType type,
                                        ReduceOp op) {
  return core_->start(reduce_scatter_request(in, out, count, type, op));
}

Work Communicator::all_gather_async(const void* in, void* out, std::size_t count, DataType type) {
  return core_->start(blocks_request(OperationKind::kAllGather, in, out, count, type));
}

Work Communicator::gather_async(const void* in, void* out, std::size_t count, DataType type,
                                int root) {
  return core_->start(blocks_request(OperationKind::kGather, in, out, count, type, root));
}

Work Communicator::scatter_async(const void* in, void* out, std::size_t count, DataType type,
                                 int root) {
  return core_->start(blocks_request(OperationKind::kScatter, in, out, count, type, root));
}

Work Communicator::all_to_all_async(const void* in, void* out, std::size_t count, DataType type) {
  return core_->start(blocks_request(OperationKind::kAllToAll, in, out, count, type));
}

}  // namespace paceline
