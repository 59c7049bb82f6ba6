// The same as tests/multiproc/first_operation.cc, of an MPI program.
#include <mpi.h>

int main(int count, char** words) {
  MPI_Init(&count, &words);
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const float mine = 1;
  float sum = 0;
  MPI_Allreduce(&mine, &sum, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return sum == static_cast<float>(ranks) ? 0 : 1;
}
