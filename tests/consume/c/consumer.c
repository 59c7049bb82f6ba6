/* Another project's C11 program: joins as its first argument says, sums, and prints the result.
 *
 *   consumer environment              the world of the environment
 *   consumer id FILE RANK RANKS       an id passed by FILE, which rank 0 writes
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

#include <paceline/paceline.h>

enum { COUNT = 1000, LOOKS = 3000 };

static int failed(const char* what, plResult_t result, plComm_t comm) {
  fprintf(stderr, "%s: %s: %s\n", what, plGetErrorString(result), plGetLastError(comm));
  return 1;
}

static int write_id(const char* path, const plUniqueId* id) {
  char beside[4096];
  snprintf(beside, sizeof beside, "%s.new", path);
  FILE* file = fopen(beside, "wb");
  const int written = file != NULL && fwrite(id, sizeof *id, 1, file) == 1;
  if (file == NULL || fclose(file) != 0 || !written || rename(beside, path) != 0) {
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
    return 1;
  }
  return 0;
}

static int read_id(const char* path, plUniqueId* id) {
  const struct timespec nap = {.tv_nsec = 10000000};
  for (int look = 0; look < LOOKS; ++look) {
    FILE* file = fopen(path, "rb");
    if (file != NULL) {
      const int whole = fread(id, sizeof *id, 1, file) == 1;
      fclose(file);
      return !whole;
    }
    thrd_sleep(&nap, NULL);
  }
  fprintf(stderr, "%s does not come\n", path);
  return 1;
}

static plResult_t join_by_id(plComm_t* comm, char** words) {
  const int rank = atoi(words[1]), ranks = atoi(words[2]);
  plUniqueId id;
  memset(&id, 0, sizeof id);
  if (rank == 0) {
    const plResult_t made = plGetUniqueId(&id);
    if (made != plSuccess) return made;
    if (write_id(words[0], &id) != 0) return plInvalidArgument;
  } else if (read_id(words[0], &id) != 0) {
    return plInvalidArgument;
  }
  plConfig_t config = PL_CONFIG_INITIALIZER;
  config.timeoutMs = 30000;
  return plCommInitRankConfig(comm, ranks, id, rank, &config);
}

static int check(plComm_t comm, int rank, int ranks) {
  static float sums[COUNT];
  static int64_t sent[COUNT], received[COUNT];
  for (int i = 0; i < COUNT; ++i) {
    sums[i] = (float)(rank + i);
    sent[i] = 7 * i + rank;
  }
  plResult_t result = plAllReduce(sums, sums, COUNT, plFloat32, plSum, comm, NULL);
  if (result != plSuccess) return failed("plAllReduce", result, comm);
  result = plBroadcast(sent, received, COUNT, plInt64, ranks - 1, comm, NULL);
  if (result != plSuccess) return failed("plBroadcast", result, comm);
  for (int i = 0; i < COUNT; ++i) {
    const float sum = (float)(ranks * i + ranks * (ranks - 1) / 2);
    if (sums[i] != sum || received[i] != 7 * i + ranks - 1) {
      fprintf(stderr, "rank %d: element %d is wrong\n", rank, i);
      return 1;
    }
  }
  /* A call that cannot succeed is refused, and the communicator stays usable. */
  result = plAllReduce(NULL, sums, COUNT, plFloat32, plSum, comm, NULL);
  if (result != plInvalidArgument || strstr(plGetLastError(comm), "null") == NULL)
    return failed("a null buffer", result, comm);
  plResult_t error = plInternalError;
  result = plCommGetAsyncError(comm, &error);
  if (result != plSuccess || error != plSuccess) return failed("plCommGetAsyncError", error, comm);
  result = plBarrier(comm, NULL);
  return result == plSuccess ? 0 : failed("plBarrier", result, comm);
}

int main(int argc, char** argv) {
  plComm_t comm = NULL;
  const int by_id = argc == 5 && strcmp(argv[1], "id") == 0;
  const plResult_t joined =
      by_id ? join_by_id(&comm, argv + 2) : plCommInitFromEnvironment(&comm, NULL);
  if (joined != plSuccess) return failed("joining", joined, NULL);
  int rank = -1, ranks = 0;
  plCommUserRank(comm, &rank);
  plCommCount(comm, &ranks);
  if (check(comm, rank, ranks) != 0) return 1;
  const plResult_t closed = plCommFinalize(comm);
  if (closed != plSuccess) return failed("plCommFinalize", closed, comm);
  plCommDestroy(comm);
  printf("rank %d of %d: ok\n", rank, ranks);
  return 0;
}
