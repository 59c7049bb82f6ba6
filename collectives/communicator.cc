#include <paceline/communicator.h>

#include "collectives/communicator_core.h"

namespace paceline {
namespace {

OperationRequest barrier_request() { return {.signature = {.kind = OperationKind::kBarrier}}; }

OperationRequest broadcast_request(void* buffer, std::size_t count, DataType type, int root) {
  auto* bytes = static_cast<std::byte*>(buffer);
  return {
      .signature = {.count = count, .root = root, .kind = OperationKind::kBroadcast, .type = type},
      .input = bytes,
      .output = bytes};
}

OperationRequest all_reduce_request(const void* in, void* out, std::size_t count, DataType type,
                                    ReduceOp op) {
  return {.signature = {.count = count, .kind = OperationKind::kAllReduce, .type = type, .op = op},
          .input = static_cast<const std::byte*>(in),
          .output = static_cast<std::byte*>(out)};
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

Status Communicator::all_reduce(const void* in, void* out, std::size_t count, DataType type,
                                ReduceOp op) {
  return core_->run(all_reduce_request(in, out, count, type, op));
}

Work Communicator::barrier_async() { return core_->start(barrier_request()); }

Work Communicator::broadcast_async(void* buffer, std::size_t count, DataType type, int root) {
  return core_->start(broadcast_request(buffer, count, type, root));
}

Work Communicator::all_reduce_async(const void* in, void* out, std::size_t count, DataType type,
                                    ReduceOp op) {
  return core_->start(all_reduce_request(in, out, count, type, op));
}

}  // namespace paceline
