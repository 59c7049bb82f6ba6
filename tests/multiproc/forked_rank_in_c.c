/* As forked_rank.cc, by the C interface: forked_rank_in_c exit|_exit. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <paceline/paceline.h>
#include <paceline/pipeline.h>

enum { kForks = 10, kChildTimeoutS = 20 };

static int bad = 0;
static plComm_t world, part;
static plPipeline_t pipeline;

static void complain(const char* what, const char* why) {
  fprintf(stderr, "process %d: %s: %s\n", (int)getpid(), what, why);
  ++bad;
}

static void refused(const char* call, plResult_t result, plComm_t comm) {
  const char* text = plGetLastError(comm);
  if (result != plInvalidArgument || strstr(text, "was forked") == NULL) complain(call, text);
}

static void try_operations(plComm_t comm) {
  float in[16] = {0}, out[16] = {0};
  const size_t counts[2] = {1, 1};
  refused("plBarrier", plBarrier(comm, NULL), comm);
  refused("plBroadcast", plBroadcast(in, out, 1, plFloat32, 0, comm, NULL), comm);
  refused("plReduce", plReduce(in, out, 1, plFloat32, plSum, 0, comm, NULL), comm);
  refused("plAllReduce", plAllReduce(in, out, 1, plFloat32, plSum, comm, NULL), comm);
  refused("plReduceScatter", plReduceScatter(in, out, 1, plFloat32, plSum, comm, NULL), comm);
  refused("plAllGather", plAllGather(in, out, 1, plFloat32, comm, NULL), comm);
  refused("plGather", plGather(in, out, 1, plFloat32, 0, comm, NULL), comm);
  refused("plScatter", plScatter(in, out, 1, plFloat32, 0, comm, NULL), comm);
  refused("plAlltoAll", plAlltoAll(in, out, 1, plFloat32, comm, NULL), comm);
  refused("plReduceScatterV", plReduceScatterV(in, out, counts, plFloat32, plSum, comm, NULL),
          comm);
  refused("plAllGatherV", plAllGatherV(in, out, counts, plFloat32, comm, NULL), comm);
  refused("plGatherV", plGatherV(in, out, counts, plFloat32, 0, comm, NULL), comm);
  refused("plScatterV", plScatterV(in, out, counts, plFloat32, 0, comm, NULL), comm);
  refused("plAlltoAllV", plAlltoAllV(in, counts, out, counts, plFloat32, comm, NULL), comm);
  refused("plSend", plSend(in, 1, plFloat32, 1, comm, NULL), comm);
  refused("plRecv", plRecv(out, 1, plFloat32, 1, comm, NULL), comm);
}

static void try_the_rest(plComm_t comm) {
  float scalar = 2;
  int number = 0;
  plResult_t error = plSuccess;
  plRedOp_t op = plSum;
  plComm_t made = NULL;
  refused("plCommSplit", plCommSplit(comm, 0, 0, &made, NULL), comm);
  refused("plCommSetTimeout", plCommSetTimeout(comm, 1000), comm);
  refused("plCommFinalize", plCommFinalize(comm), comm);
  refused("plCommCount", plCommCount(comm, &number), comm);
  refused("plCommUserRank", plCommUserRank(comm, &number), comm);
  refused("plCommGetAsyncError", plCommGetAsyncError(comm, &error), comm);
  refused("plRedOpCreatePreMulSum",
          plRedOpCreatePreMulSum(&op, &scalar, plFloat32, plScalarHostImmediate, comm), comm);
  refused("plRedOpDestroy", plRedOpDestroy(op, comm), comm);
  refused("plCommAbort", plCommAbort(comm), comm);
}

static void try_pipeline(void) {
  float value = 1;
  void* gradient = NULL;
  int ended = 0;
  size_t bytes = 0;
  plResult_t error = plSuccess;
  refused("plPipelineGradient", plPipelineGradient(pipeline, 0, &gradient), NULL);
  refused("plPipelineReady", plPipelineReady(pipeline, 0, NULL), NULL);
  refused("plPipelineReadyFrom", plPipelineReadyFrom(pipeline, 0, &value, NULL), NULL);
  refused("plPipelineWait", plPipelineWait(pipeline, 0, NULL), NULL);
  refused("plPipelineWaitAll", plPipelineWaitAll(pipeline, NULL, NULL), NULL);
  refused("plPipelineJoin", plPipelineJoin(pipeline, NULL, &ended, NULL), NULL);
  refused("plPipelineSetAccumulating", plPipelineSetAccumulating(pipeline, 1), NULL);
  refused("plPipelineSetFrozen", plPipelineSetFrozen(pipeline, 0, 1), NULL);
  refused("plPipelineSetLossScale", plPipelineSetLossScale(pipeline, 2), NULL);
  refused("plPipelineSetTimeout", plPipelineSetTimeout(pipeline, 1000), NULL);
  refused("plPipelineGetAsyncError", plPipelineGetAsyncError(pipeline, &error), NULL);
  refused("plPipelineState", plPipelineState(pipeline, NULL, &bytes), NULL);
  refused("plPipelineLoadState", plPipelineLoadState(pipeline, &value, 4), NULL);
  refused("plPipelineAbort", plPipelineAbort(pipeline), NULL);
  if (plPipelineDestroy(pipeline) != plSuccess) complain("plPipelineDestroy", plGetLastError(NULL));
}

static void be_a_child(int exits, void* buffer) {
  void* another = NULL;
  alarm(kChildTimeoutS);
  /* The parent has opened it, with a call inside. */
  if (plGroupEnd() != plInvalidArgument) complain("plGroupEnd", plGetLastError(NULL));
  try_operations(world);
  try_the_rest(world);
  try_pipeline();
  if (plBufferAlloc(&another, 4096) == plSuccess) complain("plBufferAlloc", "a success");
  if (plBufferFree(buffer) == plSuccess) complain("plBufferFree", "a success");
  if (plCommDestroy(part) != plSuccess) complain("plCommDestroy", plGetLastError(NULL));
  if (exits) exit(bad != 0);
  _exit(bad != 0);
}

static void check(plResult_t result, const char* what) {
  if (result == plSuccess) return;
  complain(what, plGetLastError(NULL));
  exit(1);
}

static void check_sum(plComm_t comm, int ranks) {
  float value = 1;
  check(plAllReduce(&value, &value, 1, plFloat32, plSum, comm, NULL), "plAllReduce");
  if (value != (float)ranks) complain("plAllReduce", "the sum is wrong");
}

static void check_step(int ranks) {
  const float value = (float)ranks;
  void* gradient = NULL;
  check(plPipelineReadyFrom(pipeline, 0, &value, NULL), "plPipelineReadyFrom");
  check(plPipelineWaitAll(pipeline, NULL, NULL), "plPipelineWaitAll");
  check(plPipelineGradient(pipeline, 0, &gradient), "plPipelineGradient");
  if (*(float*)gradient != value) complain("plPipelineWaitAll", "the average is wrong");
}

int main(int argc, char** argv) {
  const int exits = argc > 1 && strcmp(argv[1], "exit") == 0;
  int rank = 0, ranks = 0;
  float value = 1;
  void* buffer = NULL;
  const plParameter_t parameter = {.count = 1, .datatype = plFloat32};
  check(plCommInitFromEnvironment(&world, NULL), "plCommInitFromEnvironment");
  check(plCommUserRank(world, &rank), "plCommUserRank");
  check(plCommCount(world, &ranks), "plCommCount");
  check(plCommSplit(world, 0, rank, &part, NULL), "plCommSplit");
  check(plPipelineCreate(&pipeline, world, &parameter, 1, NULL), "plPipelineCreate");
  check(plBufferAlloc(&buffer, 4096), "plBufferAlloc");
  check_sum(world, ranks);
  check_step(ranks);
  check(plGroupStart(), "plGroupStart");
  check(plAllReduce(&value, &value, 1, plFloat32, plSum, world, NULL), "plAllReduce in a group");
  for (int i = 0; rank == 0 && i < kForks; ++i) {
    int status = 0;
    pid_t child = fork();
    if (child == 0) be_a_child(exits, buffer);
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
      complain("a child", "it has not ended well");
  }
  check(plGroupEnd(), "plGroupEnd");
  if (value != (float)ranks) complain("plGroupEnd", "the sum is wrong");
  check_sum(world, ranks);
  check_sum(part, ranks);
  check_step(ranks);
  check(plPipelineDestroy(pipeline), "plPipelineDestroy");
  check(plBufferFree(buffer), "plBufferFree");
  check(plCommFinalize(part), "plCommFinalize");
  check(plCommDestroy(part), "plCommDestroy");
  check(plCommFinalize(world), "plCommFinalize");
  check(plCommDestroy(world), "plCommDestroy");
  return bad != 0;
}
