#include "collectives/c_interface/words.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <mutex>
#include <optional>
#include <type_traits>
#include <vector>

#include "collectives/c_interface/calls.h"

namespace paceline::c_interface {
namespace {

constexpr ReduceOp kNoOp =
    static_cast<ReduceOp>(std::numeric_limits<std::underlying_type_t<ReduceOp>>::max());
constexpr int kFirstMade = plAvg + 1;

using Factors = std::vector<std::optional<ReduceRule::Factor>>;

// Where an op that was made stands; null if it was not, or no longer is there.
std::optional<ReduceRule::Factor>* find(Factors& factors, plRedOp_t op) {
  const auto place = static_cast<std::size_t>(op) - kFirstMade;
  return op >= kFirstMade && place < factors.size() && factors[place] ? &factors[place] : nullptr;
}

}  // namespace

DataType type_of(plDataType_t type) {
  switch (type) {
    case plInt8:
      return DataType::kInt8;
    case plUint8:
      return DataType::kUInt8;
    case plInt32:
      return DataType::kInt32;
    case plInt64:
      return DataType::kInt64;
    case plUint64:
      return DataType::kUInt64;
    case plInt16:
      return DataType::kInt16;
    case plUint16:
      return DataType::kUInt16;
    case plUint32:
      return DataType::kUInt32;
    case plFloat16:
      return DataType::kFloat16;
    case plFloat32:
      return DataType::kFloat32;
    case plFloat64:
      return DataType::kFloat64;
    case plBfloat16:
      return DataType::kBFloat16;
  }
  return static_cast<DataType>(std::numeric_limits<std::underlying_type_t<DataType>>::max());
}

ReduceRule rule_of(plRedOp_t op, plComm* comm) {
  switch (op) {
    case plSum:
      return ReduceOp::kSum;
    case plProd:
      return ReduceOp::kProd;
    case plMax:
      return ReduceOp::kMax;
    case plMin:
      return ReduceOp::kMin;
    case plAvg:
      return ReduceOp::kAvg;
    case plMaxRedOp:
      break;
  }
  if (comm == nullptr || !comm->made_in.is_of_this_process()) return kNoOp;
  const std::lock_guard lock(comm->mutex);
  const auto* const made = find(comm->factors, op);
  return made != nullptr ? ReduceRule(**made) : ReduceRule(kNoOp);
}

}  // namespace paceline::c_interface

using namespace paceline::c_interface;
using paceline::Communicator;
using paceline::ReduceRule;
using paceline::Status;

plResult_t plRedOpCreatePreMulSum(plRedOp_t* op, const void* scalar, plDataType_t datatype,
                                  plScalarResidence_t residence, plComm_t comm) {
  return on(comm, [&](Communicator&) -> Status {
    const paceline::DataType type = type_of(datatype);
    if (op == nullptr || scalar == nullptr) return invalid("the op or the scalar is NULL");
    if (paceline::size_of(type) == 0) return invalid("unknown data type");
    if (residence != plScalarHostImmediate)
      return invalid("residence is not allowed; use plScalarHostImmediate");
    ReduceRule::Factor factor{.type = type};
    std::memcpy(factor.element.data(), scalar, paceline::size_of(type));
    const std::lock_guard lock(comm->mutex);
    auto free = std::find(comm->factors.begin(), comm->factors.end(), std::nullopt);
    if (free == comm->factors.end()) free = comm->factors.emplace(free);
    *free = factor;
    *op = static_cast<plRedOp_t>(kFirstMade + (free - comm->factors.begin()));
    return {};
  });
}

plResult_t plRedOpDestroy(plRedOp_t op, plComm_t comm) {
  return on(comm, [&](Communicator&) -> Status {
    const std::lock_guard lock(comm->mutex);
    auto* const made = find(comm->factors, op);
    if (made == nullptr) return invalid("the op was not made for this communicator");
    made->reset();
    return {};
  });
}
