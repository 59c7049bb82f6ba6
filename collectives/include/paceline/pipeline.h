/* Averages or sums gradients over all ranks while backward still computes other gradients, for C11.
 *
 * Example:
 *   const plParameter_t parameters[] = {
 *       {.name = "embedding", .count = 23440896, .datatype = plFloat32},
 *       {.name = "head", .count = 589824, .datatype = plFloat32}};
 *   plPipeline_t pipeline;
 *   if (plPipelineCreate(&pipeline, comm, parameters, 2, NULL) != plSuccess) abort();
 *   for (int step = 0; step < 100; ++step) {
 *     for (size_t i = 2; i-- > 0;) {
 *       void* gradient = NULL;
 *       plPipelineGradient(pipeline, i, &gradient);
 *       backward(i, gradient);              // writes into the pipeline's memory
 *       plPipelineReady(pipeline, i, NULL); // from any thread, in any order
 *     }
 *     if (plPipelineWaitAll(pipeline, NULL, NULL) != plSuccess) abort();
 *     update(); // the gradients are averages now
 *   }
 *   plPipelineDestroy(pipeline);
 *
 * paceline/gradient_pipeline.h says what a pipeline does: buckets, order, codecs, steps and errors.
 * Each call here names the member of GradientPipeline that it stands for. `index` is the place of a
 * parameter in the list of plPipelineCreate, from 0.
 *
 * Any thread may call plPipelineReady, plPipelineReadyFrom, plPipelineGradient, plPipelineAbort and
 * plPipelineGetAsyncError at any time. One thread at a time makes the other calls. A call never
 * joins a group of paceline.h: it runs at once. No exception leaves a call.
 *
 * Gradients lie in host memory, and `stream` must be NULL. With `onDevice` they lie in the memory
 * of the GPU that is current for the thread that calls plPipelineCreate, and `stream` is a
 * cudaStream_t. Ready begins after earlier work on the stream. Wait, WaitAll and Join may return
 * before the result is in GPU memory, and later work on the stream begins after it is there. NULL
 * is then the default stream.
 *
 * ERRORS  plGetLastError(NULL) has the text, on the thread whose call failed. plGetLastError(comm)
 *         also has that of plPipelineCreate. plInvalidArgument leaves the pipeline usable, any
 *         other error of a step is final. plPipelineDestroy and plPipelineAbort refuse a pipeline
 *         that was destroyed before. Other calls do not check that.
 *
 * In a forked child every call on a pipeline of the parent fails with plInvalidArgument.
 * plPipelineDestroy frees only the child's copy. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <paceline/paceline.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plPipeline* plPipeline_t;

/* A parameter of the model: paceline::Parameter. Fields that are not initialized by name are 0. */
typedef struct {
  const char* name;      /* for messages, copied; NULL: "parameter 3" for index 3 */
  size_t count;          /* elements of the gradient */
  plDataType_t datatype; /* plFloat32, plFloat64, plFloat16 or plBfloat16 */
  size_t columns;        /* for plCodecPowerSgd: elements in a row of the matrix; 0: unknown */
  int uses;              /* how often the gradient is ready in each backward; 0 means 1 */
} plParameter_t;

/* The form in which gradients travel: paceline::Codec. */
typedef enum {
  plCodecNone = 0,
  plCodecBf16 = 1,
  plCodecFp16 = 2,
  plCodecInt8 = 3,
  plCodecTopK = 4,
  plCodecPowerSgd = 5,
  plCodecAuto = 6
} plCodec_t;

/* paceline::GradientOptions, which explains each field. Must be equal on all ranks. Initialize it
 * with PL_PIPELINE_CONFIG_INITIALIZER, which sets the defaults. `size` has the meaning that it has
 * in plConfig_t. */
typedef struct { /* without padding, so that `size` tells the fields */
  size_t size;
  int64_t isAverage; /* not 0: average over the ranks that had data; 0: the sum */
  size_t bucketBytes;
  size_t maxBytesInFlight;
  int64_t findsOverflow;
  int64_t computesNorm;
  int64_t codec; /* plCodec_t */
  int64_t forcesCodec;
  double errorBudget;
  double topKShare;
  int64_t powerSgdRank;
  int64_t onDevice; /* not 0: gradients lie in the memory of the current GPU */
} plPipelineConfig_t;
#define PL_PIPELINE_CONFIG_INITIALIZER \
  { sizeof(plPipelineConfig_t), 1, 0, 33554432, 1, 0, plCodecNone, 0, 0.01, 0.01, 4, 0 }

/* The outcome of a step, equal on all ranks: paceline::StepResult. */
typedef struct {
  int ranks;                /* ranks that had data; 0 for a micro-step without reduction */
  int hasOverflow;          /* 1: a reduced gradient overflowed; skip the update */
  int overflowRank;         /* first rank with such a value; -1: the result overflowed, or none */
  size_t overflowParameter; /* index; 0 without an overflow */
  double norm;              /* L2 norm of all reduced gradients, with computesNorm; else 0 */
} plStepResult_t;

/* Makes a pipeline: GradientPipeline::create(). Collective, with the rules of plCommSplit. A rank
 * with wrong arguments takes part, too: it gets plInvalidArgument, and the other ranks an error
 * that names it. `config` may be NULL: the defaults. The list is copied. `comm` may end before the
 * pipeline. The caller owns `pipeline`, and ends it by plPipelineDestroy. */
plResult_t plPipelineCreate(plPipeline_t* pipeline, plComm_t comm, const plParameter_t* parameters,
                            size_t count, const plPipelineConfig_t* config);
/* Frees the pipeline and the memory of its gradients. No thread may be inside a call on it, or call
 * it later. An unfinished step ends with plCancelled on all ranks. NULL has no effect. */
plResult_t plPipelineDestroy(plPipeline_t pipeline);

/* *gradient: the memory of the gradient, for the pipeline's life: gradient(). It is aligned to 64
 * bytes, and has zeros at first. The caller may use it except between Ready and the end of Wait.
 * With onDevice only kernels can use it. */
plResult_t plPipelineGradient(plPipeline_t pipeline, size_t index, void** gradient);
/* Says that backward has written the gradient: ready_on(index, stream). */
plResult_t plPipelineReady(plPipeline_t pipeline, size_t index, plStream_t stream);
/* Copies or adds `gradient`, an array of the same length, before that:
 * ready_on(index, gradient, stream). */
plResult_t plPipelineReadyFrom(plPipeline_t pipeline, size_t index, const void* gradient,
                               plStream_t stream);

/* Says that backward has ended. Returns when this gradient is reduced:
 * wait_on(index, stream). */
plResult_t plPipelineWait(plPipeline_t pipeline, size_t index, plStream_t stream);
/* Waits for all gradients and ends the step: wait_on(stream). `result` may be NULL. An error leaves
 * *result as it was. */
plResult_t plPipelineWaitAll(plPipeline_t pipeline, plStepResult_t* result, plStream_t stream);
/* For a rank without more data: takes part in one step of the other ranks: join_on(stream). Call it
 * until *allHaveJoined is 1: no rank has data, and there was no step. `result` may be NULL, and is
 * written only after a step. */
plResult_t plPipelineJoin(plPipeline_t pipeline, plStepResult_t* result, int* allHaveJoined,
                          plStream_t stream);

/* Not 0: plPipelineWaitAll ends micro-steps without a reduction: set_accumulating(). */
plResult_t plPipelineSetAccumulating(plPipeline_t pipeline, int isAccumulating);
/* Not 0: the parameter has no gradient from now on: set_frozen(). */
plResult_t plPipelineSetFrozen(plPipeline_t pipeline, size_t index, int isFrozen);
/* For a program that scales its loss: set_loss_scale(). */
plResult_t plPipelineSetLossScale(plPipeline_t pipeline, double scale);
/* The time limit of each operation: set_timeout(). */
plResult_t plPipelineSetTimeout(plPipeline_t pipeline, int64_t timeoutMs);

/* *error: plSuccess while the pipeline is usable, else the code of the final error: failure(). The
 * text of that error is then in plGetLastError(NULL). Never waits for operations. */
plResult_t plPipelineGetAsyncError(plPipeline_t pipeline, plResult_t* error);
/* Ends the step, and all later calls, with plCancelled on all ranks: abort(). Unlike plCommAbort it
 * frees nothing, because other threads may be writing gradients. */
plResult_t plPipelineAbort(plPipeline_t pipeline);

/* Copies the state of the codecs, for a checkpoint of this rank: state(). Sets *bytes to its length
 * in bytes. Before the call *bytes is the size of `buffer`: if that is too small, the call fails
 * with plInvalidArgument. If `buffer` is NULL, the call only sets *bytes. */
plResult_t plPipelineState(plPipeline_t pipeline, void* buffer, size_t* bytes);
/* load_state(). Called between steps. */
plResult_t plPipelineLoadState(plPipeline_t pipeline, const void* state, size_t bytes);

#ifdef __cplusplus
}
#endif
