/* A rank that joins by the C interface: early_rank join|reduce|split [COMMAND].
 *
 * Runs the shell's COMMAND once it has joined. Then all ranks sum, or split the world, but rank 1,
 * which ends with 0 instead unless it is told to join. What goes wrong goes to standard error. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <paceline/paceline.h>

static int failed(plComm_t comm, plResult_t result) {
  if (result == plSuccess) return 0;
  fprintf(stderr, "%s\n", plGetLastError(comm));
  return 1;
}

static plResult_t reduce(plComm_t comm) {
  float value = 1;
  return plAllReduce(&value, &value, 1, plFloat32, plSum, comm, NULL);
}

static plResult_t split(plComm_t comm) {
  plComm_t part = NULL;
  const plResult_t result = plCommSplit(comm, 0, 0, &part, NULL);
  plCommDestroy(part);
  return result;
}

int main(int argc, char** argv) {
  const char* const what = argc > 1 ? argv[1] : "join";
  plComm_t comm = NULL;
  if (failed(NULL, plCommInitFromEnvironment(&comm, NULL))) return 1;
  if (argc > 2 && system(argv[2]) != 0) return 2;
  int rank = 0;
  plCommUserRank(comm, &rank);
  if (rank == 1 && strcmp(what, "join") != 0) _exit(0);
  if (failed(comm, strcmp(what, "split") == 0 ? split(comm) : reduce(comm))) return 1;
  if (failed(comm, plCommFinalize(comm))) return 1;
  plCommDestroy(comm);
  return 0;
}
