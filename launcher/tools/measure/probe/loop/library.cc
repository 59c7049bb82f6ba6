#include "launcher/tools/measure/probe/loop/library.h"

#include <array>
#include <string>
#include <utility>

#include "collectives/reduce/elements.h"
#include "comm/base/try.h"
#include "comm/base/with_type.h"
#include "launcher/tools/measure/probe/loop/operation.h"

namespace paceline::probe {
namespace {

// What it costs, and the result of a sum.
[[gnu::noinline]] ReduceRule factor_of_one(DataType type) {
  return with_type(type, []<class T>(T) {
    T one;
    reduce::store_element<T>(&one, 0, 1);
    return ReduceRule::pre_multiplied_sum(one);
  });
}

// Inline, so that it can be made where a call's argument lies.
[[gnu::always_inline]] inline ReduceRule rule_of(ReduceOp op, DataType type) {
  return op == ReduceOp::kPreMulSum ? factor_of_one(type) : ReduceRule(op);
}

}  // namespace

Result<std::byte*> Library::allocate(std::size_t bytes) {
  if (gpu_ != nullptr) return gpu_->allocate(bytes);
  if (!registered_) return allocate_ordinary(bytes);
  PACELINE_TRY_ASSIGN(Buffer buffer, Buffer::allocate(bytes));
  return buffers_.emplace_back(std::move(buffer)).data();
}

Status Library::write(void* to, const void* from, std::size_t bytes) {
  return gpu_ != nullptr ? gpu_->write(to, from, bytes) : Subject::write(to, from, bytes);
}

Status Library::read(void* to, const void* from, std::size_t bytes) {
  return gpu_ != nullptr ? gpu_->read(to, from, bytes) : Subject::read(to, from, bytes);
}

Status Library::call(const Call& call) {
  const auto& [kind, in, out, count, type, op, root] = call;
  switch (kind) {
    case OperationKind::kBarrier:
      return communicator_.barrier();
    case OperationKind::kBroadcast:
      return communicator_.broadcast(out, count, type, root);
    case OperationKind::kAllReduce:
      return communicator_.all_reduce(in, out, count, type, rule_of(op, type));
    case OperationKind::kReduce:
      return communicator_.reduce(in, out, count, type, rule_of(op, type), root);
    case OperationKind::kReduceScatter:
      return communicator_.reduce_scatter(in, out, count, type, rule_of(op, type));
    case OperationKind::kAllGather:
      return communicator_.all_gather(in, out, count, type);
    case OperationKind::kGather:
      return communicator_.gather(in, out, count, type, root);
    case OperationKind::kScatter:
      return communicator_.scatter(in, out, count, type, root);
    case OperationKind::kAllToAll:
      return communicator_.all_to_all(in, out, count, type);
    case OperationKind::kSend:
      if (rank() == 0) return communicator_.send(in, count, type, 1);
      return rank() == 1 ? communicator_.receive(out, count, type, 0) : Status();
    case OperationKind::kExchange:
      return communicator_.exchange(
          std::array{Message::sent(in, count, type, next_to(rank(), size())),
                     Message::received(out, count, type, previous_to(rank(), size()))});
    default:
      return not_measured(std::string(name(kind)) + " is not measured");
  }
}

}  // namespace paceline::probe
