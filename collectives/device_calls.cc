#include "collectives/device_calls.h"

#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "collectives/backend/plan_request.h"
#include "collectives/plan/shape.h"

namespace paceline {
namespace {

class Calls {
 public:
  Calls(const OperationRequest& request, int rank, int ranks)
      : request_(request),
        plan_(plan_request(request, rank, ranks)),
        element_bytes_(size_of(request.signature.type)) {
    if (request.factor) factor_ = request.factor->element;
  }

  std::vector<DeviceCall> make() {
    if (!request_.tensors.empty()) {
      for (const Tensor& tensor : request_.tensors)
        add(DeviceCall::Kind::kAllReduce, tensor.in, tensor.out, tensor.count);
      return std::move(made_);
    }
    add_operation();
    return std::move(made_);
  }

 private:
  using Kind = DeviceCall::Kind;

  void add(Kind kind, const void* in, void* out, std::size_t count, int peer = -1) {
    if (count == 0) return;
    made_.push_back({.kind = kind,
                     .type = request_.signature.type,
                     .op = request_.signature.op,
                     .peer = peer,
                     .count = count,
                     .in = in,
                     .out = out,
                     .factor = factor_});
  }

  void add_operation() {
    const std::byte* const in = request_.input;
    std::byte* const out = request_.output;
    const int root = plan_.root;
    switch (plan_.kind) {
      case OperationKind::kAllReduce:
        return add(Kind::kAllReduce, in, out, plan_.count);
      case OperationKind::kReduce:
        return add(Kind::kReduce, in, out, plan_.count, root);
      case OperationKind::kBroadcast:
        return add(Kind::kBroadcast, in, out, plan_.count, root);
      case OperationKind::kAllGather:
        return add(Kind::kAllGather, in, out, plan_.count);
      case OperationKind::kReduceScatter:
        return add(Kind::kReduceScatter, in, out, plan_.count);
      case OperationKind::kReduceScatterV:
        for (int rank = 0; rank < plan_.ranks; ++rank) {
          const Part part = block_of(plan_, rank);
          add(Kind::kReduce, at(in, part.offset), out, part.count, rank);
        }
        return;
      case OperationKind::kAllGatherV:
        for (int rank = 0; rank < plan_.ranks; ++rank) {
          const Part part = block_of(plan_, rank);
          add(Kind::kBroadcast, in, at(out, part.offset), part.count, rank);
        }
        return;
      case OperationKind::kGather:
      case OperationKind::kGatherV:
        if (plan_.rank != root) return add(Kind::kSend, in, nullptr, own().count, root);
        for (int rank = 0; rank < plan_.ranks; ++rank) receive(rank, block_of(plan_, rank));
        return send_to_self(in, own());
      case OperationKind::kScatter:
      case OperationKind::kScatterV:
        if (plan_.rank != root) return add(Kind::kReceive, nullptr, out, own().count, root);
        for (int rank = 0; rank < plan_.ranks; ++rank) {
          const Part part = block_of(plan_, rank);
          if (rank != root) add(Kind::kSend, at(in, part.offset), nullptr, part.count, rank);
        }
        return copy(at(in, own().offset), out, own().count);
      case OperationKind::kAllToAll:
        for (int rank = 0; rank < plan_.ranks; ++rank) {
          const Part part = block_of(plan_, rank);
          add(Kind::kSend, at(in, part.offset), nullptr, part.count, rank);
          add(Kind::kReceive, nullptr, at(out, part.offset), part.count, rank);
        }
        return;
      default:
        return;
    }
  }

  void receive(int rank, const Part& part) {
    if (rank != plan_.rank)
      add(Kind::kReceive, nullptr, at(request_.output, part.offset), part.count, rank);
  }
  void send_to_self(const std::byte* in, const Part& part) {
    copy(in, at(request_.output, part.offset), part.count);
  }
  // In place there is nothing to do.
  void copy(const std::byte* from, std::byte* to, std::size_t count) {
    if (from == to) return;
    add(Kind::kSend, from, nullptr, count, plan_.rank);
    add(Kind::kReceive, nullptr, to, count, plan_.rank);
  }

  Part own() const { return block_of(plan_, plan_.rank); }
  template <class Byte>
  Byte* at(Byte* memory, std::size_t element) const {
    return memory == nullptr ? nullptr : memory + element * element_bytes_;
  }

  const OperationRequest& request_;
  const PlanRequest plan_;
  const std::size_t element_bytes_;
  std::optional<std::array<std::byte, 8>> factor_;
  std::vector<DeviceCall> made_;
};

}  // namespace

std::vector<DeviceCall> device_calls(const OperationRequest& request, int rank, int ranks) {
  return Calls(request, rank, ranks).make();
}

}  // namespace paceline
