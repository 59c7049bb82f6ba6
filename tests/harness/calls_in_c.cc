#include "tests/harness/calls_in_c.h"

#include <algorithm>
#include <iterator>

namespace paceline::testing {
namespace {

struct CType {
  plDataType_t c;
  DataType type;
};
constexpr CType kCTypes[] = {{plInt8, DataType::kInt8},         {plUint8, DataType::kUInt8},
                             {plInt32, DataType::kInt32},       {plInt64, DataType::kInt64},
                             {plUint64, DataType::kUInt64},     {plFloat16, DataType::kFloat16},
                             {plFloat32, DataType::kFloat32},   {plFloat64, DataType::kFloat64},
                             {plBfloat16, DataType::kBFloat16}, {plInt16, DataType::kInt16},
                             {plUint16, DataType::kUInt16},     {plUint32, DataType::kUInt32}};
static_assert(std::size(kCTypes) == std::size(kDataTypes));
struct COp {
  plRedOp_t c;
  ReduceOp op;
};
constexpr COp kCOps[] = {{plSum, ReduceOp::kSum},
                         {plProd, ReduceOp::kProd},
                         {plMax, ReduceOp::kMax},
                         {plMin, ReduceOp::kMin},
                         {plAvg, ReduceOp::kAvg}};
static_assert(std::size(kCOps) == std::size(kReduceOps) - 1);  // one is made

// As one operation, all its messages at once.
plResult_t exchange_in_c(plComm_t comm, std::span<const Message> messages) {
  plResult_t result = plGroupStart();
  for (const auto& [in, out, count, peer, type, is_sent] : messages) {
    if (result != plSuccess) break;
    result = is_sent ? plSend(in, count, c_type(type), peer, comm, nullptr)
                     : plRecv(out, count, c_type(type), peer, comm, nullptr);
  }
  const plResult_t ended = plGroupEnd();
  return result == plSuccess ? ended : result;
}

}  // namespace

plDataType_t c_type(DataType type) {
  return std::find_if(std::begin(kCTypes), std::end(kCTypes),
                      [&](const CType& each) { return each.type == type; })
      ->c;
}
plRedOp_t c_op(ReduceOp op) {
  return std::find_if(std::begin(kCOps), std::end(kCOps),
                      [&](const COp& each) { return each.op == op; })
      ->c;
}

namespace {

plResult_t call_with(plComm_t comm, const Call& call, MadeCall& made, plRedOp_t op) {
  const plDataType_t type = c_type(call.type);
  const OperationKind kind = call.kind;
  const std::size_t count = call.count;
  const int root = call.root;
  const void* const in = made.input();
  void* const out = made.output();
  switch (kind) {
    case OperationKind::kBarrier:
      return plBarrier(comm, nullptr);
    case OperationKind::kClose:
      return plCommFinalize(comm);
    case OperationKind::kBroadcast:
      return plBroadcast(in, out, count, type, root, comm, nullptr);
    case OperationKind::kReduce:
      return plReduce(in, out, count, type, op, root, comm, nullptr);
    case OperationKind::kAllReduce:
      return plAllReduce(in, out, count, type, op, comm, nullptr);
    case OperationKind::kReduceScatter:
      return plReduceScatter(in, out, count, type, op, comm, nullptr);
    case OperationKind::kAllGather:
      return plAllGather(in, out, count, type, comm, nullptr);
    case OperationKind::kGather:
      return plGather(in, out, count, type, root, comm, nullptr);
    case OperationKind::kScatter:
      return plScatter(in, out, count, type, root, comm, nullptr);
    case OperationKind::kAllToAll:
      return plAlltoAll(in, out, count, type, comm, nullptr);
    case OperationKind::kReduceScatterV:
      return plReduceScatterV(in, out, made.counts().data(), type, op, comm, nullptr);
    case OperationKind::kAllGatherV:
      return plAllGatherV(in, out, made.counts().data(), type, comm, nullptr);
    case OperationKind::kGatherV:
      return plGatherV(in, out, made.counts().data(), type, root, comm, nullptr);
    case OperationKind::kScatterV:
      return plScatterV(in, out, made.counts().data(), type, root, comm, nullptr);
    case OperationKind::kAllToAllV:
      return plAlltoAllV(in, made.counts().data(), out, made.recv_counts().data(), type, comm,
                         nullptr);
    case OperationKind::kExchange:
      return exchange_in_c(comm, made.messages());
    case OperationKind::kSend:
    case OperationKind::kReceive:
      break;
  }
  return plInternalError;
}

}  // namespace

plResult_t call_in_c(plComm_t comm, const Call& call, MadeCall& made) {
  // The result of a call on device memory comes in the order of the stream.
  struct Arrival {
    ~Arrival() {
      if (device != nullptr) device->run_all();
    }
    FakeDevice* device;
  } const arrival{call.device};
  if (call.op != ReduceOp::kPreMulSum || !reduces(call.kind))
    return call_with(comm, call, made, reduces(call.kind) ? c_op(call.op) : plSum);
  plRedOp_t op = plSum;
  const plResult_t result = plRedOpCreatePreMulSum(&op, made.rule().factor()->element.data(),
                                                   c_type(call.type), plScalarHostImmediate, comm);
  if (result != plSuccess) return result;
  const plResult_t called = call_with(comm, call, made, op);
  const plResult_t destroyed = plRedOpDestroy(op, comm);
  return called != plSuccess ? called : destroyed;
}

}  // namespace paceline::testing
