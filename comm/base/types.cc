#include <paceline/types.h>

namespace paceline {

std::string_view name(DataType type) {
  switch (type) {
    case DataType::kFloat32:
      return "float32";
    case DataType::kFloat64:
      return "float64";
    case DataType::kInt32:
      return "int32";
    case DataType::kInt64:
      return "int64";
    case DataType::kFloat16:
      return "float16";
    case DataType::kBFloat16:
      return "bfloat16";
    case DataType::kInt8:
      return "int8";
    case DataType::kUInt8:
      return "uint8";
    case DataType::kUInt64:
      return "uint64";
    case DataType::kInt16:
      return "int16";
    case DataType::kUInt16:
      return "uint16";
    case DataType::kUInt32:
      return "uint32";
  }
  return "unknown type";
}

std::string_view name(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return "sum";
    case ReduceOp::kMin:
      return "min";
    case ReduceOp::kMax:
      return "max";
    case ReduceOp::kProd:
      return "prod";
    case ReduceOp::kAvg:
      return "avg";
    case ReduceOp::kPreMulSum:
      return "premul_sum";
  }
  return "unknown op";
}

std::string_view name(OperationKind kind) {
  switch (kind) {
    case OperationKind::kClose:
      return "close";
    case OperationKind::kBarrier:
      return "barrier";
    case OperationKind::kBroadcast:
      return "broadcast";
    case OperationKind::kReduce:
      return "reduce";
    case OperationKind::kAllReduce:
      return "all_reduce";
    case OperationKind::kReduceScatter:
      return "reduce_scatter";
    case OperationKind::kAllGather:
      return "all_gather";
    case OperationKind::kGather:
      return "gather";
    case OperationKind::kScatter:
      return "scatter";
    case OperationKind::kAllToAll:
      return "all_to_all";
    case OperationKind::kReduceScatterV:
      return "reduce_scatter_v";
    case OperationKind::kAllGatherV:
      return "all_gather_v";
    case OperationKind::kGatherV:
      return "gather_v";
    case OperationKind::kScatterV:
      return "scatter_v";
    case OperationKind::kAllToAllV:
      return "all_to_all_v";
    case OperationKind::kExchange:
      return "exchange";
    case OperationKind::kSend:
      return "send";
    case OperationKind::kReceive:
      return "receive";
  }
  return "unknown operation";
}

}  // namespace paceline
