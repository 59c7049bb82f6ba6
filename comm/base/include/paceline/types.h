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
#include <type_traits>

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
  kInt16,
  kUInt16,
  kUInt32,
};
/// Integer sums and products wrap. An average is the sum divided by the number of ranks; integers
/// round towards zero, and for float16 the sum does not overflow. Floating-point kMin and kMax are
/// minimum and maximum of IEEE 754-2019: NaN if a rank has a NaN, and -0 is less than +0. By NCCL
/// they differ (docs/devices.md). kPreMulSum needs a factor (paceline/reduce_rule.h).
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
  kFast,             ///< the fastest method; between hosts it depends on measured times
  kRunStable,        ///< equal runs of a job on equal hosts give equal bits
  kPlacementStable,  ///< equal inputs give equal bits on any hosts: rank order, rounded once
};

inline constexpr DataType kDataTypes[] = {
    DataType::kFloat32, DataType::kFloat64,  DataType::kInt32,  DataType::kInt64,
    DataType::kFloat16, DataType::kBFloat16, DataType::kInt8,   DataType::kUInt8,
    DataType::kUInt64,  DataType::kInt16,    DataType::kUInt16, DataType::kUInt32};
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
    case DataType::kInt16:
    case DataType::kUInt16:
      return 2;
    case DataType::kFloat32:
    case DataType::kInt32:
    case DataType::kUInt32:
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

/// True for C++ types that a reduction can take: float, double, Float16, BFloat16, and integers of
/// 8 to 64 bits, except bool.
template <class T>
inline constexpr bool kIsElement = std::is_same_v<T, float> || std::is_same_v<T, double> ||
                                   std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16> ||
                                   (std::is_integral_v<T> && sizeof(T) <= 8 &&
                                    !std::is_same_v<T, bool>);

/// The integer type of this size in bytes.
constexpr DataType integer_type(std::size_t bytes, bool is_signed) {
  switch (bytes) {
    case 1:
      return is_signed ? DataType::kInt8 : DataType::kUInt8;
    case 2:
      return is_signed ? DataType::kInt16 : DataType::kUInt16;
    case 4:
      return is_signed ? DataType::kInt32 : DataType::kUInt32;
    default:
      return is_signed ? DataType::kInt64 : DataType::kUInt64;
  }
}

/// The DataType of a C++ element type. Other types do not compile.
template <class T>
constexpr DataType data_type_of() {
  static_assert(kIsElement<T>,
                "this type cannot be reduced; use float, double, paceline::Float16, "
                "paceline::BFloat16 or an integer other than bool");
  if constexpr (std::is_same_v<T, float>) return DataType::kFloat32;
  if constexpr (std::is_same_v<T, double>) return DataType::kFloat64;
  if constexpr (std::is_same_v<T, Float16>) return DataType::kFloat16;
  if constexpr (std::is_same_v<T, BFloat16>) return DataType::kBFloat16;
  return integer_type(sizeof(T), std::is_signed_v<T>);
}
template <class T>
inline constexpr DataType kDataTypeOf = data_type_of<T>();

}  // namespace paceline
