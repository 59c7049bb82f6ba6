// MPI as it comes: built once against Open MPI and once against MPICH.
#include <cstddef>
#include <cstdio>
#include <limits>
#include <string>

#include <mpi.h>

#include <paceline/status.h>

#include "launcher/probe/rank.h"
#include "launcher/probe/subject.h"
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

  Status barrier() override { return checked(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier"); }

  Status broadcast(probe::Elements buffer, int root) override {
    return checked(MPI_Bcast(buffer.data, static_cast<int>(buffer.count), mpi_type(buffer.type),
                             root, MPI_COMM_WORLD),
                   "MPI_Bcast");
  }

  Status all_reduce(const void* in, probe::Elements out, ReduceOp op) override {
    const void* const from = in == out.data ? MPI_IN_PLACE : in;
    return checked(MPI_Allreduce(from, out.data, static_cast<int>(out.count), mpi_type(out.type),
                                 mpi_op(op), MPI_COMM_WORLD),
                   "MPI_Allreduce");
  }

 private:
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
