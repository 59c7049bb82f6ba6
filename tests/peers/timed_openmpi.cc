// Open MPI in the loop of timed_loop.h; mpirun starts its ranks.
#include <mpi.h>

#include "tests/peers/timed_loop.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const auto barrier = [] { MPI_Barrier(MPI_COMM_WORLD); };
  const auto all_reduce = [](std::span<float> values) {
    MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_FLOAT, MPI_SUM,
                  MPI_COMM_WORLD);
  };
  const int code = paceline::peers::time_all_reduces(
      {.rank = rank, .size = size, .barrier = barrier, .all_reduce = all_reduce}, argc, argv);
  MPI_Finalize();
  return code;
}
