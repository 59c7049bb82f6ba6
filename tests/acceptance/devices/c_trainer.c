/* A trainer in C11: data-parallel SGD on a flat array of weights, whose gradient has one part for
 * each parameter. A rank of c_trainer_overlaps.
 *
 *   c_trainer blocking|handles|pipeline STEPS COMPUTE_MS
 *
 * blocking: one plAllReduce after the backward of each parameter.
 * handles:  the same calls in the background (plGroupEndAsync), each waited for before the update.
 * pipeline: a gradient pipeline (paceline/pipeline.h).
 *
 * Backward takes COMPUTE_MS in each step. It sleeps like a host whose GPU computes, and then writes
 * the gradient. Exposed time is the time that a step spends inside calls of the library. Averages
 * are integers that float32 represents, so they must be exact. At the end each rank prints the
 * median of its exposed time, and a digest of its weights. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <time.h>

#include <paceline/paceline.h>
#include <paceline/pipeline.h>

enum { kParameters = 8, kWarmUp = 3, kMostSteps = 1000 };

/* In the order of forward: 16 MiB together. Backward ends with the first one. */
static const size_t counts[kParameters] = {131072, 131072, 262144, 524288,
                                           524288, 786432, 786432, 1048576};

typedef struct {
  plComm_t comm;
  int rank, ranks;
  float* gradients[kParameters];
  plPipeline_t pipeline;
  plWork_t works[kParameters];
} Trainer;

/* How a mode reduces gradients. */
typedef struct {
  const char* name;
  void (*prepare)(Trainer*);
  void (*reduce)(Trainer*, int parameter); /* after its backward */
  void (*finish)(Trainer*);                /* before the update */
  void (*end)(Trainer*);
} Mode;

static void check(plResult_t result, plComm_t comm) {
  if (result == plSuccess) return;
  fprintf(stderr, "c_trainer: %s\n", plGetLastError(comm));
  exit(1);
}

static void make_flat_gradient(Trainer* trainer) {
  size_t count = 0;
  void* flat = NULL;
  for (int i = 0; i < kParameters; ++i) count += counts[i];
  check(plBufferAlloc(&flat, count * sizeof(float)), NULL);
  trainer->gradients[0] = flat;
  for (int i = 1; i < kParameters; ++i)
    trainer->gradients[i] = trainer->gradients[i - 1] + counts[i - 1];
}

static void free_flat_gradient(Trainer* trainer) {
  check(plBufferFree(trainer->gradients[0]), NULL);
}

static void average(Trainer* trainer, int parameter) {
  float* const gradient = trainer->gradients[parameter];
  check(plAllReduce(gradient, gradient, counts[parameter], plFloat32, plAvg, trainer->comm, NULL),
        trainer->comm);
}

static void start_average(Trainer* trainer, int parameter) {
  check(plGroupStart(), NULL);
  average(trainer, parameter);
  check(plGroupEndAsync(&trainer->works[parameter]), NULL);
}

static void wait_for_works(Trainer* trainer) {
  for (int i = kParameters; i-- > 0;) check(plWorkWait(trainer->works[i]), NULL);
}

static void make_pipeline(Trainer* trainer) {
  plParameter_t parameters[kParameters];
  memset(parameters, 0, sizeof parameters);
  for (int i = 0; i < kParameters; ++i) {
    parameters[i].count = counts[i];
    parameters[i].datatype = plFloat32;
  }
  check(plPipelineCreate(&trainer->pipeline, trainer->comm, parameters, kParameters, NULL),
        trainer->comm);
  for (size_t i = 0; i < kParameters; ++i) {
    void* gradient = NULL;
    check(plPipelineGradient(trainer->pipeline, i, &gradient), NULL);
    trainer->gradients[i] = gradient;
  }
}

static void make_ready(Trainer* trainer, int parameter) {
  check(plPipelineReady(trainer->pipeline, (size_t)parameter, NULL), NULL);
}

static void wait_for_pipeline(Trainer* trainer) {
  plStepResult_t result;
  check(plPipelineWaitAll(trainer->pipeline, &result, NULL), NULL);
  if (result.ranks == trainer->ranks && !result.hasOverflow) return;
  fprintf(stderr, "c_trainer: %d ranks had data, and not %d\n", result.ranks, trainer->ranks);
  exit(1);
}

static void destroy_pipeline(Trainer* trainer) {
  check(plPipelineDestroy(trainer->pipeline), NULL);
}

static void do_nothing(Trainer* trainer) { (void)trainer; }

static const Mode modes[] = {
    {"blocking", make_flat_gradient, average, do_nothing, free_flat_gradient},
    {"handles", make_flat_gradient, start_average, wait_for_works, free_flat_gradient},
    {"pipeline", make_pipeline, make_ready, wait_for_pipeline, destroy_pipeline},
};

static double now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static float value_of(size_t element, int step, int rank) {
  return (float)(element % 61 + (size_t)(step % 8) + 4 * (size_t)rank);
}

static void backward(const Trainer* trainer, int parameter, int step, double compute_ms) {
  const long nap_ns = (long)(compute_ms / kParameters * 1e6);
  const struct timespec nap = {.tv_sec = nap_ns / 1000000000, .tv_nsec = nap_ns % 1000000000};
  thrd_sleep(&nap, NULL);
  for (size_t k = 0; k < counts[parameter]; ++k)
    trainer->gradients[parameter][k] = value_of(k, step, trainer->rank);
}

/* Also checks that each average is exact. */
static void update(const Trainer* trainer, int step, float* weights) {
  for (int i = 0; i < kParameters; ++i) {
    for (size_t k = 0; k < counts[i]; ++k, ++weights) {
      const float wanted = value_of(k, step, 0) + 2 * (float)(trainer->ranks - 1);
      if (trainer->gradients[i][k] != wanted) {
        fprintf(stderr, "c_trainer: rank %d, step %d: element %zu of gradient %d is %g, not %g\n",
                trainer->rank, step, k, i, (double)trainer->gradients[i][k], (double)wanted);
        exit(1);
      }
      *weights -= 0.25F * trainer->gradients[i][k];
    }
  }
}

/* Returns the exposed time. */
static double train_step(Trainer* trainer, const Mode* mode, int step, double compute_ms) {
  double exposed_ms = 0;
  for (int i = kParameters; i-- > 0;) {
    backward(trainer, i, step, compute_ms);
    const double begin = now_ms();
    mode->reduce(trainer, i);
    exposed_ms += now_ms() - begin;
  }
  const double begin = now_ms();
  mode->finish(trainer);
  return exposed_ms + now_ms() - begin;
}

static int compare(const void* one, const void* other) {
  const double a = *(const double*)one, b = *(const double*)other;
  return (a > b) - (a < b);
}

/* FNV-1a of the words. */
static uint64_t digest_of(const float* weights, size_t count) {
  uint64_t digest = UINT64_C(14695981039346656037);
  for (size_t i = 0; i < count; ++i) {
    uint32_t word;
    memcpy(&word, weights + i, sizeof word);
    digest = (digest ^ word) * UINT64_C(1099511628211);
  }
  return digest;
}

static const Mode* mode_of(const char* name) {
  for (size_t i = 0; i < sizeof modes / sizeof modes[0]; ++i)
    if (strcmp(modes[i].name, name) == 0) return &modes[i];
  return NULL;
}

int main(int argc, char** argv) {
  const Mode* const mode = argc == 4 ? mode_of(argv[1]) : NULL;
  const int steps = argc == 4 ? atoi(argv[2]) : 0;
  if (mode == NULL || steps < 1 || steps > kMostSteps) {
    fprintf(stderr, "usage: c_trainer blocking|handles|pipeline STEPS COMPUTE_MS\n");
    return 2;
  }
  Trainer trainer;
  memset(&trainer, 0, sizeof trainer);
  check(plCommInitFromEnvironment(&trainer.comm, NULL), NULL);
  check(plCommUserRank(trainer.comm, &trainer.rank), trainer.comm);
  check(plCommCount(trainer.comm, &trainer.ranks), trainer.comm);
  mode->prepare(&trainer);

  size_t count = 0;
  for (int i = 0; i < kParameters; ++i) count += counts[i];
  float* const weights = calloc(count, sizeof *weights);
  if (weights == NULL) return 1;
  double exposed_ms[kMostSteps];
  for (int step = -kWarmUp; step < steps; ++step) {
    /* A rank that comes late to a step would count as communication of the others. */
    check(plBarrier(trainer.comm, NULL), trainer.comm);
    const double exposed = train_step(&trainer, mode, step + kWarmUp, atof(argv[3]));
    if (step >= 0) exposed_ms[step] = exposed;
    update(&trainer, step + kWarmUp, weights);
  }
  qsort(exposed_ms, (size_t)steps, sizeof *exposed_ms, compare);
  printf("{\"exposed_ms\": %.3f, \"digest\": \"%016" PRIx64 "\"}\n", exposed_ms[steps / 2],
         digest_of(weights, count));
  free(weights);

  mode->end(&trainer);
  check(plCommFinalize(trainer.comm), trainer.comm);
  check(plCommDestroy(trainer.comm), NULL);
  return 0;
}
