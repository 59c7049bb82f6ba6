#include "launcher/tools/measure/probe/raw/combine.h"

#include <algorithm>
#include <cstdint>

#include "launcher/tools/measure/probe/raw/raw_area.h"

namespace paceline::probe {
namespace {

struct Sum {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(a + b);
  }
};
struct Prod {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(a * b);
  }
};
struct Min {
  template <class T>
  static T of(T a, T b) {
    return b < a ? b : a;
  }
};
struct Max {
  template <class T>
  static T of(T a, T b) {
    return a < b ? b : a;
  }
};

template <class T, class Op>
inline __attribute__((always_inline)) void loop(void* into, const void* from, std::size_t count) {
  T* __restrict const a = static_cast<T*>(into);
  const T* __restrict const b = static_cast<const T*>(from);
  for (std::size_t i = 0; i < count; ++i) a[i] = Op::of(a[i], b[i]);
}

template <class T, class Op>
void plain(void* into, const void* from, std::size_t count) {
  loop<T, Op>(into, from, count);
}

template <class T, class Op>
__attribute__((target("avx2"))) void wide(void* into, const void* from, std::size_t count) {
  loop<T, Op>(into, from, count);
}

template <class T, class Op>
void plain_packet(void* into, const void* from) {
  loop<T, Op>(into, from, kPacketBytes / sizeof(T));
}

template <class T, class Op>
__attribute__((target("avx2"))) void wide_packet(void* into, const void* from) {
  loop<T, Op>(into, from, kPacketBytes / sizeof(T));
}

template <class T, class Op>
Combiner choose() {
  if (__builtin_cpu_supports("avx2")) return {wide<T, Op>, wide_packet<T, Op>};
  return {plain<T, Op>, plain_packet<T, Op>};
}

template <class T>
Combiner choose(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return choose<T, Sum>();
    case ReduceOp::kMin:
      return choose<T, Min>();
    case ReduceOp::kMax:
      return choose<T, Max>();
    case ReduceOp::kProd:
      return choose<T, Prod>();
    case ReduceOp::kAvg:
    case ReduceOp::kPreMulSum:
      break;
  }
  return {};
}

}  // namespace

Combiner combiner_for(DataType type, ReduceOp op) {
  switch (type) {
    case DataType::kFloat32:
      return choose<float>(op);
    case DataType::kFloat64:
      return choose<double>(op);
    case DataType::kInt32:
      return choose<std::int32_t>(op);
    case DataType::kInt64:
      return choose<std::int64_t>(op);
    case DataType::kInt8:
      return choose<std::int8_t>(op);
    case DataType::kUInt8:
      return choose<std::uint8_t>(op);
    case DataType::kUInt64:
      return choose<std::uint64_t>(op);
    case DataType::kInt16:
      return choose<std::int16_t>(op);
    case DataType::kUInt16:
      return choose<std::uint16_t>(op);
    case DataType::kUInt32:
      return choose<std::uint32_t>(op);
    case DataType::kFloat16:
    case DataType::kBFloat16:
      break;
  }
  return {};
}

}  // namespace paceline::probe
