// From a data type that is known at run time to one that the compiler knows.
#pragma once

#include <paceline/types.h>

namespace paceline {

/// Calls `use` with a zero of the C++ type of `type`, and returns what it returns.
template <class Use>
constexpr auto with_type(DataType type, Use&& use) {
  switch (type) {
    case DataType::kFloat32:
      return use(float{});
    case DataType::kFloat64:
      return use(double{});
    case DataType::kInt32:
      return use(std::int32_t{});
    case DataType::kInt64:
      return use(std::int64_t{});
    case DataType::kFloat16:
      return use(Float16{});
    case DataType::kBFloat16:
      return use(BFloat16{});
    case DataType::kInt8:
      return use(std::int8_t{});
    case DataType::kUInt8:
      return use(std::uint8_t{});
    case DataType::kUInt64:
      return use(std::uint64_t{});
    case DataType::kInt16:
      return use(std::int16_t{});
    case DataType::kUInt16:
      return use(std::uint16_t{});
    case DataType::kUInt32:
      return use(std::uint32_t{});
  }
  return use(float{});
}

}  // namespace paceline
