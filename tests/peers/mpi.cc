// MPI as it comes: built once against Open MPI and once against MPICH.
#include <cstddef>
#include <cstdio>
#include <limits>
#include <string>

#include <mpi.h>

#include <paceline/status.h>

#include "launcher/tools/measure/probe/loop/operation.h"
#include "launcher/tools/measure/probe/loop/rank.h"
#include "launcher/tools/measure/probe/loop/subject.h"
#include "tests/peers/peer_main.h"

namespace paceline::peers {
namespace {

MPI_Datatype mpi_type(DataType type) {
  switch (type) {
    case DataType::kFloat32:
      return MPI_FLOAT;
    case DataType::kFloat64:
      return MPI_DOUBLE;
    case DataType::kInt32:
      return MPI_INT32_T;
    case DataType::kInt64:
      return MPI_INT64_T;
    case DataType::kInt8:
      return MPI_INT8_T;
    case DataType::kUInt8:
      return MPI_UINT8_T;
    case DataType::kUInt64:
      return MPI_UINT64_T;
    case DataType::kInt16:
      return MPI_INT16_T;
    case DataType::kUInt16:
      return MPI_UINT16_T;
    case DataType::kUInt32:
      return MPI_UINT32_T;
    case DataType::kFloat16:
    case DataType::kBFloat16:
      break;
  }
  return MPI_DATATYPE_NULL;
}

MPI_Op mpi_op(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return MPI_SUM;
    case ReduceOp::kMin:
      return MPI_MIN;
    case ReduceOp::kMax:
      return MPI_MAX;
    case ReduceOp::kProd:
      return MPI_PROD;
    case ReduceOp::kAvg:
    case ReduceOp::kPreMulSum:
      break;
  }
  return MPI_OP_NULL;
}

// Errors end the job: MPI's own default.
Status checked(int code, const char* what) {
  if (code == MPI_SUCCESS) return Status();
  return Status(Code::kInternal, Scope::kProcess, std::string(what) + " has failed");
}

class Mpi final : public probe::Subject {
 public:
  Mpi(int rank, int size) : rank_(rank), size_(size) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  Status call(const probe::Call& call) override {
    const MPI_Datatype type = mpi_type(call.type);
    const auto count = static_cast<int>(call.count);
    const void* const in = sent(call);
    const MPI_Comm world = MPI_COMM_WORLD;
    switch (call.kind) {
      case OperationKind::kBarrier:
        return checked(MPI_Barrier(world), "MPI_Barrier");
      case OperationKind::kBroadcast:
        return checked(MPI_Bcast(call.out, count, type, call.root, world), "MPI_Bcast");
      case OperationKind::kAllReduce:
        return checked(MPI_Allreduce(in, call.out, count, type, mpi_op(call.op), world),
                       "MPI_Allreduce");
      case OperationKind::kReduce:
        return checked(MPI_Reduce(in, call.out, count, type, mpi_op(call.op), call.root, world),
                       "MPI_Reduce");
      case OperationKind::kReduceScatter:
        if (call.out == own_block(call.in, call))
          return probe::not_measured(
              "MPI leaves the result of a reduce_scatter in place elsewhere: --inplace no");
        return checked(MPI_Reduce_scatter_block(in, call.out, count, type, mpi_op(call.op), world),
                       "MPI_Reduce_scatter_block");
      case OperationKind::kAllGather:
        return checked(MPI_Allgather(in, count, type, call.out, count, type, world),
                       "MPI_Allgather");
      case OperationKind::kGather:
        return checked(MPI_Gather(in, count, type, call.out, count, type, call.root, world),
                       "MPI_Gather");
      case OperationKind::kScatter:
        return checked(
            MPI_Scatter(call.in, count, type, received(call), count, type, call.root, world),
            "MPI_Scatter");
      case OperationKind::kAllToAll:
        return checked(MPI_Alltoall(in, count, type, call.out, count, type, world), "MPI_Alltoall");
      case OperationKind::kSend:
        if (rank_ == 0) return checked(MPI_Send(in, count, type, 1, 0, world), "MPI_Send");
        if (rank_ > 1) return Status();
        return checked(MPI_Recv(call.out, count, type, 0, 0, world, MPI_STATUS_IGNORE), "MPI_Recv");
      case OperationKind::kExchange:
        return checked(
            MPI_Sendrecv(in, count, type, probe::next_to(rank_, size_), 0, call.out, count, type,
                         probe::previous_to(rank_, size_), 0, world, MPI_STATUS_IGNORE),
            "MPI_Sendrecv");
      default:
        return probe::not_measured(std::string(name(call.kind)) + " is not measured");
    }
  }

 private:
  // In an array of blocks.
  const void* own_block(const void* array, const probe::Call& call) const {
    const std::size_t offset = static_cast<std::size_t>(rank_) * call.count * size_of(call.type);
    return static_cast<const std::byte*>(array) + offset;
  }

  // Input and output as MPI wants them where they are in place.
  const void* sent(const probe::Call& call) const {
    const bool has_result = !has_root(call.kind) || call.root == rank_;
    const bool is_reduction =
        call.kind == OperationKind::kAllReduce || call.kind == OperationKind::kReduce;
    const bool gathers =
        call.kind == OperationKind::kAllGather || call.kind == OperationKind::kGather;
    const bool in_place =
        (is_reduction && call.in == call.out) || (gathers && call.in == own_block(call.out, call));
    return has_result && in_place ? MPI_IN_PLACE : call.in;
  }
  void* received(const probe::Call& call) const {
    const bool in_place = call.root == rank_ && call.out == own_block(call.in, call);
    return in_place ? MPI_IN_PLACE : call.out;
  }

  int rank_;
  int size_;
};

Status measure(const probe::Orders& orders) {
  if (orders.high_bytes / size_of(orders.type) > std::numeric_limits<int>::max())
    return Status(Code::kInvalidArgument, Scope::kOperation,
                  "MPI counts no further than 2147483647 elements");
  if (mpi_type(orders.type) == MPI_DATATYPE_NULL || mpi_op(orders.op) == MPI_OP_NULL)
    return Status(Code::kInvalidArgument, Scope::kOperation,
                  "MPI knows no float16, no bfloat16, no average and no factor");
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  Mpi mpi(rank, size);
  return probe::measure_all(mpi, orders);
}

}  // namespace
}  // namespace paceline::peers

int main(int argc, char** argv) {
  return paceline::peers::peer_main(argc, argv, [&](const paceline::probe::Orders& orders) {
    MPI_Init(&argc, &argv);
    const paceline::Status status = paceline::peers::measure(orders);
    if (!status.ok()) {
      std::fprintf(stderr, "%s\n", status.to_string().c_str());
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return status;
  });
}
