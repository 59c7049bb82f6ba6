/* Collective operations among the ranks of a group, for C11 and languages that call C.
 *
 * Example:
 *   plComm_t comm; // under `paceline run`
 *   if (plCommInitFromEnvironment(&comm, NULL) != plSuccess) abort();
 *   float gradients[1000] = {0};
 *   if (plAllReduce(gradients, gradients, 1000, plFloat32, plSum, comm, NULL) != plSuccess)
 *     fprintf(stderr, "%s\n", plGetLastError(comm));
 *   plCommFinalize(comm); // succeeds if all ranks made the same calls
 *   plCommDestroy(comm);
 *
 * Calls, types and codes that NCCL also has keep NCCL's shape, name and number, with the prefix pl
 * (source: NCCL's API reference). paceline/communicator.h says what the operations do. Counts are
 * numbers of elements, 64 bits wide. Buffers are host memory or GPU memory, with any alignment. The
 * input and the output are the same buffer or do not overlap.
 *
 * A call on host memory returns when it has ended, except in a group. Several threads may
 * call at the same time. Operations of one communicator run in the order of the calls, which must
 * be the same on all ranks. No exception leaves a call.
 *
 * In a forked child every call on a communicator of the parent fails with plInvalidArgument.
 * plCommAbort frees nothing there; plCommDestroy frees only the child's copy. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plComm* plComm_t;
/* A cudaStream_t. Must be NULL for operations on host memory. */
typedef struct CUstream_st* plStream_t;

#define PL_UNIQUE_ID_BYTES 128
/* The id of a new group. Keep it like a password: see paceline/unique_id.h. */
typedef struct {
  char internal[PL_UNIQUE_ID_BYTES];
} plUniqueId;

/* The kind of error, by what the caller should do: paceline::Code. */
typedef enum {
  plSuccess = 0,
  plUnavailable = 2,     /* try again, or check the named address */
  plSystemError = 2,     /* NCCL's name of it */
  plInternalError = 3,   /* report a bug in Paceline */
  plInvalidArgument = 4, /* fix the call; the communicator stays usable */
  plMismatch = 5,        /* ranks called different operations */
  plInvalidUsage = 5,    /* NCCL's name of it */
  plPeerLost = 6,        /* a rank has ended */
  plRemoteError = 6,     /* NCCL's name of it */
  plInProgress = 7,      /* never returned */
  plTimeout = 8,         /* a rank did not answer in time */
  plCancelled = 9,       /* a caller aborted or destroyed the communicator */
  plDenied = 10,         /* fix the key or the permissions */
  plExhausted = 11       /* too many outstanding operations; the communicator stays usable */
} plResult_t;

typedef enum {
  plInt8 = 0,
  plChar = 0,
  plUint8 = 1,
  plInt32 = 2,
  plInt = 2,
  plUint32 = 3,
  plInt64 = 4,
  plUint64 = 5,
  plFloat16 = 6,
  plHalf = 6,
  plFloat32 = 7,
  plFloat = 7,
  plFloat64 = 8,
  plDouble = 8,
  plBfloat16 = 9,
  plInt16 = 64, /* NCCL does not have 16-bit integers */
  plUint16 = 65
} plDataType_t;

/* plRedOpCreatePreMulSum makes other values. For floats plMin and plMax are minimum and maximum of
 * IEEE 754-2019: NaN if any rank has a NaN, and -0 is less than +0. NCCL, which carries out
 * operations on GPU memory, computes them in another way, and rounds other sums (docs/devices.md).
 */
typedef enum {
  plSum = 0,
  plProd = 1,
  plMax = 2,
  plMin = 3,
  plAvg = 4,
  plMaxRedOp = 0x7fffffff
} plRedOp_t;

typedef enum { plScalarHostImmediate = 1 } plScalarResidence_t;

/* paceline::Determinism. Default: PACELINE_DETERMINISM, or fast if that is not set. */
typedef enum {
  plDeterminismDefault = 0,
  plDeterminismFast = 1,
  plDeterminismRunStable = 2,
  plDeterminismPlacementStable = 3
} plDeterminism_t;

/* Initialize it with PL_CONFIG_INITIALIZER, which sets the defaults. `size` tells a later library
 * which fields the program knows, so the program works as before. An earlier library that knows
 * fewer fields refuses the config (plInvalidArgument). */
typedef struct { /* without padding, so that `size` tells the fields */
  size_t size;
  int64_t timeoutMs;   /* limit of each operation and of joining; 0: PACELINE_TIMEOUT_S, or 300 s */
  int64_t determinism; /* plDeterminism_t */
  const char* commName; /* paceline::InitOptions::name, copied; NULL: none */
} plConfig_t;
#define PL_CONFIG_INITIALIZER \
  { sizeof(plConfig_t), 0, plDeterminismDefault, NULL }

/* The version of the library: 10000 major + 100 minor + patch. */
plResult_t plGetVersion(int* version);
/* Makes a new id: paceline::make_unique_id(). */
plResult_t plGetUniqueId(plUniqueId* id);

/* Joins the group of the id as `rank` of `nranks`. Collective. `config` may be NULL. The caller
 * owns `comm`, and ends it by plCommDestroy or plCommAbort. */
plResult_t plCommInitRank(plComm_t* comm, int nranks, plUniqueId id, int rank);
plResult_t plCommInitRankConfig(plComm_t* comm, int nranks, plUniqueId id, int rank,
                                const plConfig_t* config);
/* Joins the world that the environment describes: Communicator::init(). Collective. `config` may be
 * NULL. */
plResult_t plCommInitFromEnvironment(plComm_t* comm, const plConfig_t* config);

/* Makes the communicators of all nranks ranks of a group in this process. comms[r] is that of rank
 * r. One thread may call operations on several of them only in a group. `devlist` must be NULL: the
 * buffers of a call tell its device. */
plResult_t plCommInitAll(plComm_t* comms, int nranks, const int* devlist);

#define PL_SPLIT_NOCOLOR (-1)
/* Makes a new communicator for the ranks that pass the same color, in the order of key, then of
 * rank. A rank that passes PL_SPLIT_NOCOLOR gets NULL. Collective: Communicator::split(). Defaults
 * of `config`, which may be NULL, are the settings of comm. It makes a few operations of comm:
 * splits of several threads run one after the other, but no other call on comm may run at the same
 * time. */
plResult_t plCommSplit(plComm_t comm, int color, int key, plComm_t* newcomm,
                       const plConfig_t* config);

/* Makes a new communicator for these ranks of comm, in this order: Communicator::subset(). A rank
 * that is not in the list gets NULL. Otherwise like plCommSplit(). */
plResult_t plCommSubset(plComm_t comm, const int* ranks, int nranks, plComm_t* newcomm,
                        const plConfig_t* config);

/* Sets the time limit of each later operation: Communicator::set_timeout(). */
plResult_t plCommSetTimeout(plComm_t comm, int64_t timeoutMs);

/* Returns when all ranks have called it. Succeeds only if all made the same calls before. */
plResult_t plCommFinalize(plComm_t comm);
/* Frees the communicator. No thread may be inside a call on it, or call it later. NULL has no
 * effect. plInvalidArgument if it was freed before, or has calls in a group of this thread that has
 * not ended. At exit() the library ends communicators: paceline/communicator.h (EXIT). */
plResult_t plCommDestroy(plComm_t comm);
/* Ends the running operations with plCancelled on all ranks, waits until no thread is inside a
 * call, and frees the communicator. Any thread may call it, but no call may begin after it. Calls
 * on it in a group of this thread are dropped, and the group fails. A thread whose call was
 * cancelled reads the error from plGetLastError(NULL). plInvalidArgument if it was freed before. */
plResult_t plCommAbort(plComm_t comm);

plResult_t plCommCount(plComm_t comm, int* count);
plResult_t plCommUserRank(plComm_t comm, int* rank);
/* plSuccess while the communicator is usable, else the final error. Never waits for operations. */
plResult_t plCommGetAsyncError(plComm_t comm, plResult_t* error);

/* Makes an op of this communicator: a sum in which each rank first multiplies its elements by
 * *scalar, one element of datatype (paceline/reduce_rule.h). The call reads the scalar. The op
 * lives until plRedOpDestroy or the end of the communicator. */
plResult_t plRedOpCreatePreMulSum(plRedOp_t* op, const void* scalar, plDataType_t datatype,
                                  plScalarResidence_t residence, plComm_t comm);
plResult_t plRedOpDestroy(plRedOp_t op, plComm_t comm);

/* Allocates memory that all ranks of a host reach directly, with the rules of paceline/buffer.h. It
 * is aligned to a page, with unspecified contents. Operations may use any part of it. plBufferFree
 * ignores NULL, and refuses memory that a running operation uses. */
plResult_t plBufferAlloc(void** buffer, size_t bytes);
plResult_t plBufferFree(void* buffer);
/* Makes whole pages of another allocator behave like such memory until plBufferDeregister. Their
 * address stays. paceline/buffer.h (Registration) lists the conditions. */
plResult_t plBufferRegister(void* memory, size_t bytes);
plResult_t plBufferDeregister(void* memory);
/* NCCL's names of these four. A handle is the address of the memory; comm is ignored. */
plResult_t plMemAlloc(void** ptr, size_t size);
plResult_t plMemFree(void* ptr);
plResult_t plCommRegister(plComm_t comm, void* buff, size_t size, void** handle);
plResult_t plCommDeregister(plComm_t comm, void* handle);

/* Operations. paceline/communicator.h says what each does, and which forms are in place.
 *
 * An operation on host memory has ended when its call returns. An operation on GPU memory begins
 * after the work that was enqueued on `stream` before the call. Later work on `stream` begins after
 * the operation. The call returns when the GPU has got all of it; plCommGetAsyncError tells of
 * later errors (docs/devices.md). */

/* On the root: recvbuff[i] = the reduction of sendbuff[i] of all ranks. */
plResult_t plReduce(const void* sendbuff, void* recvbuff, size_t count, plDataType_t datatype,
                    plRedOp_t op, int root, plComm_t comm, plStream_t stream);
/* recvbuff[i] = the reduction of sendbuff[i] of all ranks. */
plResult_t plAllReduce(const void* sendbuff, void* recvbuff, size_t count, plDataType_t datatype,
                       plRedOp_t op, plComm_t comm, plStream_t stream);
/* recvbuff[i] = the reduction of sendbuff[rank x recvcount + i] of all ranks. */
plResult_t plReduceScatter(const void* sendbuff, void* recvbuff, size_t recvcount,
                           plDataType_t datatype, plRedOp_t op, plComm_t comm, plStream_t stream);
/* recvbuff[r x sendcount + i] = sendbuff[i] of rank r. */
plResult_t plAllGather(const void* sendbuff, void* recvbuff, size_t sendcount,
                       plDataType_t datatype, plComm_t comm, plStream_t stream);
/* On the root: recvbuff[r x count + i] = sendbuff[i] of rank r. */
plResult_t plGather(const void* sendbuff, void* recvbuff, size_t count, plDataType_t datatype,
                    int root, plComm_t comm, plStream_t stream);
/* recvbuff[i] = sendbuff[rank x count + i] of the root. */
plResult_t plScatter(const void* sendbuff, void* recvbuff, size_t count, plDataType_t datatype,
                     int root, plComm_t comm, plStream_t stream);
/* recvbuff[r x count + i] = sendbuff[rank x count + i] of rank r. */
plResult_t plAlltoAll(const void* sendbuff, void* recvbuff, size_t count, plDataType_t datatype,
                      plComm_t comm, plStream_t stream);
/* Forms with contiguous blocks of counts[r] elements for rank r. All ranks pass the same counts. */
plResult_t plReduceScatterV(const void* sendbuff, void* recvbuff, const size_t* counts,
                            plDataType_t datatype, plRedOp_t op, plComm_t comm, plStream_t stream);
plResult_t plAllGatherV(const void* sendbuff, void* recvbuff, const size_t* counts,
                        plDataType_t datatype, plComm_t comm, plStream_t stream);
plResult_t plGatherV(const void* sendbuff, void* recvbuff, const size_t* counts,
                     plDataType_t datatype, int root, plComm_t comm, plStream_t stream);
plResult_t plScatterV(const void* sendbuff, void* recvbuff, const size_t* counts,
                      plDataType_t datatype, int root, plComm_t comm, plStream_t stream);
/* Each rank passes its own counts: elements that it sends to, and receives from, each rank. */
plResult_t plAlltoAllV(const void* sendbuff, const size_t* sendcounts, void* recvbuff,
                       const size_t* recvcounts, plDataType_t datatype, plComm_t comm,
                       plStream_t stream);
/* Copies sendbuff of the root to recvbuff of all ranks. Other ranks ignore sendbuff. */
plResult_t plBroadcast(const void* sendbuff, void* recvbuff, size_t count, plDataType_t datatype,
                       int root, plComm_t comm, plStream_t stream);
/* Broadcasts in place: buff is input at the root and output at all other ranks. */
plResult_t plBcast(void* buff, size_t count, plDataType_t datatype, int root, plComm_t comm,
                   plStream_t stream);
/* Returns when all ranks have called it. */
plResult_t plBarrier(plComm_t comm, plStream_t stream);

/* Sends a message to a peer that calls plRecv with the same count and datatype:
 * Communicator::send(). Two ranks that send to each other must do so in a group. */
plResult_t plSend(const void* sendbuff, size_t count, plDataType_t datatype, int peer,
                  plComm_t comm, plStream_t stream);
plResult_t plRecv(void* recvbuff, size_t count, plDataType_t datatype, int peer, plComm_t comm,
                  plStream_t stream);

/* A group: plGroupEnd runs the operations and messages that this thread has called since
 * plGroupStart. It returns when each of them may: plSuccess or the first error. Counts, and buffers
 * in host memory, are borrowed until then. The calls themselves check comm, and that stream is NULL
 * in a process without a GPU driver. Messages of one communicator and one group use the same
 * stream.
 *
 * For each communicator, all messages run first, concurrently. Its operations follow in the order
 * of the calls; consecutive small all-reduces run as one (Communicator::all_reduce_many()).
 * Different communicators run concurrently. No call may use a buffer that another call of the group
 * writes. In nested groups, the outermost plGroupEnd runs the calls. */
plResult_t plGroupStart(void);
plResult_t plGroupEnd(void);

/* Ends the outermost group, runs its calls in the background, and returns at once. `work` refers to
 * all of them; buffers and counts are borrowed until they have ended. Each work must be passed to
 * plWorkWait() once:
 *
 *   plGroupStart();
 *   plAllReduce(gradient, gradient, count, plFloat32, plAvg, comm, NULL);
 *   plGroupEndAsync(&work);
 *   load_next_batch();
 *   plWorkWait(work); */
typedef struct plWork* plWork_t;
plResult_t plGroupEndAsync(plWork_t* work);
/* *ended: 1 if all calls have ended, else 0. Never waits. */
plResult_t plWorkTest(plWork_t work, int* ended);
/* Lets a stream wait for the calls, in place of the CPU: Work::wait_on(). Does not free the work.
 */
plResult_t plWorkWaitOn(plWork_t work, plStream_t stream);
/* Waits until all calls have ended, and frees the work. Returns plSuccess or the first error. */
plResult_t plWorkWait(plWork_t work);

/* Marks of the steps of a program, one rank a process: paceline/steps.h. They cannot fail. */
typedef enum { plPartCompute = 0, plPartInput = 2, plPartOther = 3 } plPart_t;
/* Optional: time between plStepEnd and plStepBegin is plPartOther. */
void plStepBegin(void);
/* A step of this rank has ended. samples and flop are its own; 0: not known. */
void plStepEnd(uint64_t samples, double flop);
/* Time from now on is of this part. Returns the part before. */
plPart_t plEnterPart(plPart_t part);
/* Not 0: keep the batch that is loaded, in place of loading the next one. Only so under
 * `paceline run --ablate input`, once a step has ended:
 *   if (!plInputIsRepeated()) load_next_batch(); */
int plInputIsRepeated(void);

/* A name for the code, valid for ever. */
const char* plGetErrorString(plResult_t result);
/* One line about the last error of the communicator, or of this thread if comm is NULL. It names
 * the operation and, if known, the rank that caused the error. Empty: no error. The text is valid
 * until the next call of this thread. */
const char* plGetLastError(plComm_t comm);

#ifdef __cplusplus
}
#endif
