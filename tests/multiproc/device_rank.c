/* A rank whose buffers lie on the device of a stand-in (tests/standins): it sums over all ranks by
 * the C interface, in the order of a stream. It looks at the result only at the end. With
 * DEVICE_RANK_PIPELINE it averages by a gradient pipeline in the memory of the device, and if that
 * is "bf16" in this codec. DEVICE_RANK_STEPS is the number of sums. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <paceline/paceline.h>
#include <paceline/pipeline.h>

enum { kCount = 3000000, kSteps = 3 };

/* The calls of the driver that a program makes, found as the CUDA runtime finds them. */
static int (*init)(unsigned);
static int (*retain)(void**, int);
static int (*set_current)(void*);
static int (*allocate)(uintptr_t*, size_t);
static int (*release)(uintptr_t);
static int (*copy_down)(void*, uintptr_t, size_t);
static int (*make_stream)(plStream_t*, unsigned);
static int (*fill)(uintptr_t, unsigned, size_t, plStream_t);

static void* find(void* library, const char* name) {
  void* const symbol = dlsym(library, name);
  if (symbol == NULL) {
    fprintf(stderr, "no %s\n", name);
    exit(2);
  }
  return symbol;
}

static void open_driver(void) {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(2);
  }
  *(void**)&init = find(library, "cuInit");
  *(void**)&retain = find(library, "cuDevicePrimaryCtxRetain");
  *(void**)&set_current = find(library, "cuCtxSetCurrent");
  *(void**)&allocate = find(library, "cuMemAlloc_v2");
  *(void**)&release = find(library, "cuMemFree_v2");
  *(void**)&copy_down = find(library, "cuMemcpyDtoH_v2");
  *(void**)&make_stream = find(library, "cuStreamCreate");
  *(void**)&fill = find(library, "cuMemsetD32Async");
}

static void check(plResult_t result, plComm_t comm) {
  if (result == plSuccess) return;
  fprintf(stderr, "%s\n", plGetLastError(comm));
  exit(1);
}

/* The bits of a float, for `fill`. */
static unsigned bits_of(float value) {
  unsigned bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* Each element of each gradient is step x (rank + 1), so its average is step x (ranks + 1) / 2. */
static int train(plComm_t comm, plStream_t stream, int rank, int ranks) {
  enum { kGradients = 3, kElements = 100000 };
  plParameter_t parameters[kGradients] = {{0}};
  plPipelineConfig_t config = PL_PIPELINE_CONFIG_INITIALIZER;
  plPipeline_t pipeline = NULL;
  plStepResult_t result;
  void* gradients[kGradients];
  static float seen[kElements];

  config.onDevice = 1;
  config.computesNorm = 1;
  if (strcmp(getenv("DEVICE_RANK_PIPELINE"), "bf16") == 0) config.codec = plCodecBf16;
  for (int i = 0; i < kGradients; ++i) {
    parameters[i].count = kElements;
    parameters[i].datatype = plFloat32;
  }
  check(plPipelineCreate(&pipeline, comm, parameters, kGradients, &config), comm);
  for (int i = 0; i < kGradients; ++i)
    check(plPipelineGradient(pipeline, (size_t)i, &gradients[i]), NULL);
  for (int step = 1; step <= kSteps; ++step) {
    for (int i = kGradients; i-- > 0;) {
      const float value = (float)(step * (rank + 1));
      fill((uintptr_t)gradients[i], bits_of(value), kElements, stream);
      check(plPipelineReady(pipeline, (size_t)i, stream), NULL);
    }
    check(plPipelineWaitAll(pipeline, &result, stream), NULL);
    if (result.hasOverflow || !(result.norm > 0)) return 3;
  }
  for (int i = 0; i < kGradients; ++i) {
    if (copy_down(seen, (uintptr_t)gradients[i], sizeof seen)) return 2;
    for (int j = 0; j < kElements; ++j) {
      if (seen[j] == (float)(kSteps * (ranks + 1)) / 2) continue;
      fprintf(stderr, "gradient %d, element %d is %f\n", i, j, (double)seen[j]);
      return 1;
    }
  }
  check(plPipelineDestroy(pipeline), NULL);
  printf("rank %d of %d: right\n", rank, ranks);
  return 0;
}

int main(void) {
  void* context = NULL;
  plStream_t stream = NULL;
  uintptr_t in = 0, out = 0;
  plComm_t comm = NULL;
  int ranks = 0, rank = 0;

  /* The communicator comes first: the process has no driver yet. */
  check(plCommInitFromEnvironment(&comm, NULL), NULL);
  plCommCount(comm, &ranks);
  plCommUserRank(comm, &rank);
  open_driver();
  if (init(0) || retain(&context, 0) || set_current(context) || make_stream(&stream, 1) ||
      allocate(&in, kCount * sizeof(int32_t)) || allocate(&out, kCount * sizeof(int32_t)))
    return 2;

  if (getenv("DEVICE_RANK_PIPELINE") != NULL) return train(comm, stream, rank, ranks);
  if (getenv("DEVICE_RANK_EXITS") != NULL && rank == 0) {
    plWork_t work = NULL;
    plGroupStart();
    plAllReduce((const void*)in, (void*)out, kCount, plInt32, plSum, comm, stream);
    plGroupEndAsync(&work);
    exit(0);
  }
  const char* const given = getenv("DEVICE_RANK_STEPS");
  const int steps = given != NULL ? atoi(given) : kSteps;
  for (int step = 1; step <= steps; ++step) {
    fill(in, (unsigned)(step * (rank + 1)), kCount, stream);
    check(plAllReduce((const void*)in, (void*)out, kCount, plInt32, plSum, comm, stream), comm);
    /* In place, on the sum. */
    check(plAllReduce((const void*)out, (void*)out, kCount, plInt32, plMax, comm, stream), comm);
  }
  int32_t* const seen = malloc(kCount * sizeof *seen);
  if (copy_down(seen, out, kCount * sizeof *seen)) return 2;
  const int32_t right = steps * ranks * (ranks + 1) / 2;
  for (int i = 0; i < kCount; ++i) {
    if (seen[i] == right) continue;
    fprintf(stderr, "element %d is %d, not %d\n", i, seen[i], right);
    return 1;
  }
  free(seen);
  release(in);
  release(out);
  check(plCommFinalize(comm), comm);
  check(plCommDestroy(comm), NULL);
  printf("rank %d of %d: right\n", rank, ranks);
  return 0;
}
