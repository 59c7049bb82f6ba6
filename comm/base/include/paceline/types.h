// Types of collective operations: element types, reductions, kinds of operations, determinism.
//
// Example:
//   constexpr paceline::DataType type = paceline::kDataTypeOf<float>;
//   std::cout << paceline::name(type) << ": " << paceline::size_of(type) << " bytes\n";
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include <paceline/half.h>

namespace paceline {

enum class DataType : std::uint8_t {
  kFloat32,
  kFloat64,
  kInt32,
  kInt64,
  kFloat16,
  kBFloat16,
  kInt8,
  kUInt8,
  kUInt64,
};
/// Integer sums and products wrap. An average is the sum divided by the number of ranks; integers
/// round towards zero. Floating-point kMin and kMax are minimum and maximum of IEEE 754-2019: NaN
/// if a rank has a NaN, and -0 is less than +0. kPreMulSum needs a factor (paceline/reduce_rule.h).
enum class ReduceOp : std::uint8_t { kSum, kMin, kMax, kProd, kAvg, kPreMulSum };
enum class OperationKind : std::uint8_t {
  kBarrier,
  kBroadcast,
  kAllReduce,
  kClose,
  kReduce,
  kReduceScatter,
  kAllGather,
  kGather,
  kScatter,
  kAllToAll,
  kReduceScatterV,
  kAllGatherV,
  kGatherV,
  kScatterV,
  kAllToAllV,
  kExchange,  ///< many messages between pairs of ranks in one operation
  kSend,
  kReceive,
};

/// How far a floating-point reduction is reproducible. In each mode all ranks of a communicator get
/// the same bits as each other.
enum class Determinism : std::uint8_t {
  kFast,             ///< the fastest method; at present it is run-stable, too
  kRunStable,        ///< equal runs of a job on equal hosts give equal bits
  kPlacementStable,  ///< equal inputs give equal bits on any hosts: rank order, rounded once
};

inline constexpr DataType kDataTypes[] = {
    DataType::kFloat32,  DataType::kFloat64, DataType::kInt32, DataType::kInt64, DataType::kFloat16,
    DataType::kBFloat16, DataType::kInt8,    DataType::kUInt8, DataType::kUInt64};
inline constexpr ReduceOp kReduceOps[] = {ReduceOp::kSum,  ReduceOp::kMin, ReduceOp::kMax,
                                          ReduceOp::kProd, ReduceOp::kAvg, ReduceOp::kPreMulSum};
inline constexpr OperationKind kOperationKinds[] = {
    OperationKind::kBarrier,   OperationKind::kBroadcast,      OperationKind::kAllReduce,
    OperationKind::kClose,     OperationKind::kReduce,         OperationKind::kReduceScatter,
    OperationKind::kAllGather, OperationKind::kGather,         OperationKind::kScatter,
    OperationKind::kAllToAll,  OperationKind::kReduceScatterV, OperationKind::kAllGatherV,
    OperationKind::kGatherV,   OperationKind::kScatterV,       OperationKind::kAllToAllV,
    OperationKind::kExchange,  OperationKind::kSend,           OperationKind::kReceive};

/// True if the value is one of the enumerators, which a number from a peer or a file may not be.
constexpr bool is_known(DataType type) {
  return static_cast<std::size_t>(type) < std::size(kDataTypes);
}
constexpr bool is_known(ReduceOp op) {
  return static_cast<std::size_t>(op) < std::size(kReduceOps);
}
constexpr bool is_known(OperationKind kind) {
  return static_cast<std::size_t>(kind) < std::size(kOperationKinds);
}

/// True if all ranks make the call; false for messages between two ranks.
constexpr bool is_collective(OperationKind kind) {
  return kind != OperationKind::kExchange && kind != OperationKind::kSend &&
         kind != OperationKind::kReceive;
}
/// True if a call of this kind has a count and a type.
constexpr bool has_elements(OperationKind kind) {
  return kind != OperationKind::kBarrier && kind != OperationKind::kClose &&
         kind != OperationKind::kExchange;
}
constexpr bool has_root(OperationKind kind) {
  return kind == OperationKind::kBroadcast || kind == OperationKind::kReduce ||
         kind == OperationKind::kGather || kind == OperationKind::kScatter ||
         kind == OperationKind::kGatherV || kind == OperationKind::kScatterV;
}
/// True if a call of this kind has a ReduceOp.
constexpr bool reduces(OperationKind kind) {
  return kind == OperationKind::kReduce || kind == OperationKind::kAllReduce ||
         kind == OperationKind::kReduceScatter || kind == OperationKind::kReduceScatterV;
}
/// True if a call of this kind has a count for each rank instead of one for all.
constexpr bool has_counts(OperationKind kind) {
  return kind == OperationKind::kReduceScatterV || kind == OperationKind::kAllGatherV ||
         kind == OperationKind::kGatherV || kind == OperationKind::kScatterV ||
         kind == OperationKind::kAllToAllV;
}

/// Bytes of one element; 0 for an unknown type.
constexpr std::size_t size_of(DataType type) {
  switch (type) {
    case DataType::kInt8:
    case DataType::kUInt8:
      return 1;
    case DataType::kFloat16:
    case DataType::kBFloat16:
      return 2;
    case DataType::kFloat32:
    case DataType::kInt32:
      return 4;
    case DataType::kFloat64:
    case DataType::kInt64:
    case DataType::kUInt64:
      return 8;
  }
  return 0;
}

std::string_view name(DataType type);
std::string_view name(ReduceOp op);
std::string_view name(OperationKind kind);

/// Maps a C++ element type to its DataType. Other types do not compile.
template <class T>
struct DataTypeOf;
template <DataType kType>
struct IsDataType {
  static constexpr DataType value = kType;
};
template <>
struct DataTypeOf<float> : IsDataType<DataType::kFloat32> {};
template <>
struct DataTypeOf<double> : IsDataType<DataType::kFloat64> {};
template <>
struct DataTypeOf<std::int32_t> : IsDataType<DataType::kInt32> {};
template <>
struct DataTypeOf<std::int64_t> : IsDataType<DataType::kInt64> {};
template <>
struct DataTypeOf<Float16> : IsDataType<DataType::kFloat16> {};
template <>
struct DataTypeOf<BFloat16> : IsDataType<DataType::kBFloat16> {};
template <>
struct DataTypeOf<std::int8_t> : IsDataType<DataType::kInt8> {};
template <>
struct DataTypeOf<std::uint8_t> : IsDataType<DataType::kUInt8> {};
template <>
struct DataTypeOf<std::uint64_t> : IsDataType<DataType::kUInt64> {};
template <class T>
inline constexpr DataType kDataTypeOf = DataTypeOf<T>::value;

}  // namespace paceline
