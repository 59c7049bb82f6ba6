// The words of a collective operation: what is done, on which elements, how they are combined.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace paceline {

enum class DataType : std::uint8_t { kFloat32, kFloat64, kInt32, kInt64 };
enum class ReduceOp : std::uint8_t { kSum, kMin, kMax };
enum class OperationKind : std::uint8_t { kBarrier, kBroadcast, kAllReduce, kClose };

inline constexpr DataType kDataTypes[] = {DataType::kFloat32, DataType::kFloat64, DataType::kInt32,
                                          DataType::kInt64};
inline constexpr ReduceOp kReduceOps[] = {ReduceOp::kSum, ReduceOp::kMin, ReduceOp::kMax};

/// Bytes of one element; 0 for what is no type.
constexpr std::size_t size_of(DataType type) {
  switch (type) {
    case DataType::kFloat32:
    case DataType::kInt32:
      return 4;
    case DataType::kFloat64:
    case DataType::kInt64:
      return 8;
  }
  return 0;
}

std::string_view name(DataType type);
std::string_view name(ReduceOp op);
std::string_view name(OperationKind kind);

/// Maps a C++ element type onto its DataType; other types do not compile.
template <class T>
struct DataTypeOf;
template <>
struct DataTypeOf<float> {
  static constexpr DataType value = DataType::kFloat32;
};
template <>
struct DataTypeOf<double> {
  static constexpr DataType value = DataType::kFloat64;
};
template <>
struct DataTypeOf<std::int32_t> {
  static constexpr DataType value = DataType::kInt32;
};
template <>
struct DataTypeOf<std::int64_t> {
  static constexpr DataType value = DataType::kInt64;
};
template <class T>
inline constexpr DataType kDataTypeOf = DataTypeOf<T>::value;

}  // namespace paceline
