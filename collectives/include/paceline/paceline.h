/* Collective operations among the ranks of a group, for C11 and all that can call it.
 *
 *   plComm_t comm;
 *   plCommInitFromEnvironment(&comm, NULL);                  under `paceline run`
 *   float gradients[1000] = ...;
 *   if (plAllReduce(gradients, gradients, 1000, plFloat32, plSum, comm, NULL) != plSuccess)
 *     fprintf(stderr, "%s\n", plGetLastError(comm));
 *   plCommFinalize(comm);                                    all ranks made the same calls
 *   plCommDestroy(comm);
 *
 * Where NCCL has a call, a type or a code, shape, name and number are NCCL's (its API reference)
 * with the prefix pl; what calls promise is said in paceline/communicator.h. Counts are of
 * elements, 64 bits wide. Buffers are host memory, aligned or not, the same for input and output or
 * apart.
 *
 * Every call returns when it has ended, but for those of a group. Any thread may call, also several
 * at a time; operations of one communicator run in the order in which they were called, which must
 * be the same on every rank. No exception leaves a call.
 *
 * In a forked child every call on a communicator of its parent is refused at once
 * (plInvalidArgument), also plCommAbort, which frees nothing there; plCommDestroy frees the child's
 * copy and does nothing else. plGetLastError gives this thread's last error there. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct plComm* plComm_t;
typedef struct plStream* plStream_t; /* NULL: host memory */

#define PL_UNIQUE_ID_BYTES 128
/* Secret: see paceline/unique_id.h. */
typedef struct {
  char internal[PL_UNIQUE_ID_BYTES];
} plUniqueId;

/* What the caller should do about it: paceline::Code. */
typedef enum {
  plSuccess = 0,
  plUnavailable = 2,     /* NCCL's system error: try again, or look at the named address */
  plInternalError = 3,   /* report a defect */
  plInvalidArgument = 4, /* mend the call; the communicator stays usable */
  plMismatch = 5,        /* NCCL's invalid usage: ranks called different operations */
  plPeerLost = 6,        /* NCCL's remote error: a rank has gone */
  plTimeout = 8,         /* a rank did not come in time */
  plCancelled = 9,       /* somebody aborted or destroyed the communicator */
  plDenied = 10,         /* mend the key or the rights */
  plExhausted = 11       /* too much at a time; the communicator stays usable */
} plResult_t;

typedef enum {
  plInt8 = 0,
  plUint8 = 1,
  plInt32 = 2,
  plInt64 = 4,
  plUint64 = 5,
  plFloat16 = 6,
  plFloat32 = 7,
  plFloat64 = 8,
  plBfloat16 = 9
} plDataType_t;

/* Of floats plMin and plMax are the minimum and maximum of IEEE 754 (2019), unlike NCCL's: NaN
 * where any rank has a NaN, with unspecified sign and payload, and -0 is less than +0. Others are
 * made by plRedOpCreatePreMulSum. */
typedef enum {
  plSum = 0,
  plProd = 1,
  plMax = 2,
  plMin = 3,
  plAvg = 4,
  plMaxRedOp = 0x7fffffff
} plRedOp_t;

typedef enum { plScalarHostImmediate = 1 } plScalarResidence_t;

/* paceline::Determinism; by default PACELINE_DETERMINISM, or fast. */
typedef enum {
  plDeterminismDefault = 0,
  plDeterminismFast = 1,
  plDeterminismRunStable = 2,
  plDeterminismPlacementStable = 3
} plDeterminism_t;

/* What is not said keeps its default. Begin with PL_CONFIG_INITIALIZER: it names the fields that
 * the caller knows, so that a program runs with a later library as it did. An earlier library that
 * knows fewer refuses it (plInvalidArgument). */
typedef struct { /* without padding: the size tells which fields there are */
  size_t size;
  int64_t timeoutMs;   /* of each operation, and of joining; 0: PACELINE_TIMEOUT_S, or 300 s */
  int64_t determinism; /* plDeterminism_t */
} plConfig_t;
#define PL_CONFIG_INITIALIZER \
  { sizeof(plConfig_t), 0, plDeterminismDefault }

/* 10000 major + 100 minor + patch. */
plResult_t plGetVersion(int* version);
/* A new id; paceline::make_unique_id(). */
plResult_t plGetUniqueId(plUniqueId* id);

/* Joins `rank` of `nranks` at the id's meeting. Collective. The config may be NULL. */
plResult_t plCommInitRank(plComm_t* comm, int nranks, plUniqueId id, int rank);
plResult_t plCommInitRankConfig(plComm_t* comm, int nranks, plUniqueId id, int rank,
                                const plConfig_t* config);
/* Joins the world that the environment describes: Communicator::init(). Collective. */
plResult_t plCommInitFromEnvironment(plComm_t* comm, const plConfig_t* config);

#define PL_SPLIT_NOCOLOR (-1)
/* Communicators of their own for the ranks that pass the same color, in the order of key, then of
 * rank; NULL for those that pass PL_SPLIT_NOCOLOR. Collective: Communicator::split(). What config
 * leaves at its default, all of it where it is NULL, is as it is in comm. */
plResult_t plCommSplit(plComm_t comm, int color, int key, plComm_t* newcomm,
                       const plConfig_t* config);

/* Of each operation that is called from now on; Communicator::set_timeout(). */
plResult_t plCommSetTimeout(plComm_t comm, int64_t timeoutMs);

/* Returns when every rank has called it, and succeeds only if all made the same calls before. */
plResult_t plCommFinalize(plComm_t comm);
/* Nobody may be inside a call on it, nor make one afterwards. NULL is nothing. */
plResult_t plCommDestroy(plComm_t comm);
/* From any thread: ends what runs with plCancelled, here and on the other ranks, waits until nobody
 * is inside a call, and destroys it. No call on it may begin afterwards: whoever was inside asks
 * plGetLastError(NULL). */
plResult_t plCommAbort(plComm_t comm);

plResult_t plCommCount(plComm_t comm, int* count);
plResult_t plCommUserRank(plComm_t comm, int* rank);
/* plSuccess while the communicator can be used, else the error that ended it. Never blocks for
 * long. */
plResult_t plCommGetAsyncError(plComm_t comm, plResult_t* error);

/* An op of this communicator that sums what each rank has multiplied by its scalar before, one
 * element of datatype, which is read now: paceline/reduce_rule.h. Destroyed with the communicator,
 * or when it has been passed for the last time. */
plResult_t plRedOpCreatePreMulSum(plRedOp_t* op, const void* scalar, plDataType_t datatype,
                                  plScalarResidence_t residence, plComm_t comm);
plResult_t plRedOpDestroy(plRedOp_t op, plComm_t comm);

/* Memory that the ranks of a host reach directly: paceline/buffer.h, with its rules. Of unspecified
 * contents, at the beginning of a page; operations take any part of it. Freeing NULL is nothing;
 * freeing what a running operation uses is refused. */
plResult_t plBufferAlloc(void** buffer, size_t bytes);
plResult_t plBufferFree(void* buffer);
/* Makes whole pages that something else has allocated such memory, where they are, until they are
 * deregistered: paceline/buffer.h (Registration) says what the caller promises. */
plResult_t plBufferRegister(void* memory, size_t bytes);
plResult_t plBufferDeregister(void* memory);

/* What each does, and what is in place: paceline/communicator.h. */

/* recvbuff[i] of the root = the reduction of every rank's sendbuff[i]. */
plResult_t plReduce(const void* sendbuff, void* recvbuff, size_t count, plDataType_t datatype,
                    plRedOp_t op, int root, plComm_t comm, plStream_t stream);
/* recvbuff[i] = the reduction of every rank's sendbuff[i]. */
plResult_t plAllReduce(const void* sendbuff, void* recvbuff, size_t count, plDataType_t datatype,
                       plRedOp_t op, plComm_t comm, plStream_t stream);
/* recvbuff[i] = the reduction of every rank's sendbuff[rank x recvcount + i]. */
plResult_t plReduceScatter(const void* sendbuff, void* recvbuff, size_t recvcount,
                           plDataType_t datatype, plRedOp_t op, plComm_t comm, plStream_t stream);
/* recvbuff[r x sendcount + i] = rank r's sendbuff[i]. */
plResult_t plAllGather(const void* sendbuff, void* recvbuff, size_t sendcount,
                       plDataType_t datatype, plComm_t comm, plStream_t stream);
/* The same on the root alone. */
plResult_t plGather(const void* sendbuff, void* recvbuff, size_t count, plDataType_t datatype,
                    int root, plComm_t comm, plStream_t stream);
/* recvbuff[i] = the root's sendbuff[rank x count + i]. */
plResult_t plScatter(const void* sendbuff, void* recvbuff, size_t count, plDataType_t datatype,
                     int root, plComm_t comm, plStream_t stream);
/* recvbuff[r x count + i] = rank r's sendbuff[rank x count + i]. */
plResult_t plAlltoAll(const void* sendbuff, void* recvbuff, size_t count, plDataType_t datatype,
                      plComm_t comm, plStream_t stream);
/* Blocks of counts[rank] elements, one behind the other; all ranks pass the same counts. */
plResult_t plReduceScatterV(const void* sendbuff, void* recvbuff, const size_t* counts,
                            plDataType_t datatype, plRedOp_t op, plComm_t comm, plStream_t stream);
plResult_t plAllGatherV(const void* sendbuff, void* recvbuff, const size_t* counts,
                        plDataType_t datatype, plComm_t comm, plStream_t stream);
plResult_t plGatherV(const void* sendbuff, void* recvbuff, const size_t* counts,
                     plDataType_t datatype, int root, plComm_t comm, plStream_t stream);
plResult_t plScatterV(const void* sendbuff, void* recvbuff, const size_t* counts,
                      plDataType_t datatype, int root, plComm_t comm, plStream_t stream);
/* Each rank passes its own counts: of what it sends to, and receives from, each. */
plResult_t plAlltoAllV(const void* sendbuff, const size_t* sendcounts, void* recvbuff,
                       const size_t* recvcounts, plDataType_t datatype, plComm_t comm,
                       plStream_t stream);
/* The root's sendbuff in every rank's recvbuff; sendbuff counts on the root only. */
plResult_t plBroadcast(const void* sendbuff, void* recvbuff, size_t count, plDataType_t datatype,
                       int root, plComm_t comm, plStream_t stream);
/* Returns when every rank has called it. */
plResult_t plBarrier(plComm_t comm, plStream_t stream);

/* A message to a peer that calls plRecv with the same count and datatype: Communicator::send(). Two
 * ranks that send to each other do so in a group. */
plResult_t plSend(const void* sendbuff, size_t count, plDataType_t datatype, int peer,
                  plComm_t comm, plStream_t stream);
plResult_t plRecv(void* recvbuff, size_t count, plDataType_t datatype, int peer, plComm_t comm,
                  plStream_t stream);

/* Operations and messages that this thread calls between the two are made by plGroupEnd, which
 * returns when all have ended: the first error, or plSuccess. Until then their buffers and counts
 * belong to them, and the calls themselves look at nothing but comm and stream.
 * Of each communicator all messages go at once, then its operations in the order of the calls,
 * small all-reduces that follow each other as one (Communicator::all_reduce_many()); several
 * communicators side by side. No call may use what another one of the group writes. Groups may lie
 * in each other: the outermost counts. */
plResult_t plGroupStart(void);
plResult_t plGroupEnd(void);

/* A word for the code. */
const char* plGetErrorString(plResult_t result);
/* One line about the last error of the communicator, or, for NULL, of this thread: whose fault it
 * is as far as that is known, and in which operation. Empty if there was none. It stays until this
 * thread's next call. */
const char* plGetLastError(plComm_t comm);

#ifdef __cplusplus
}
#endif
