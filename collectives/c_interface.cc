// paceline/paceline.h on top of the C++ interface: codes for statuses, a text for the last error,
// and no exception past this file. Longer than 400 lines because each call of that header has a few
// here.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <limits>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

#include <paceline/communicator.h>
#include <paceline/paceline.h>

using paceline::Code;
using paceline::Communicator;
using paceline::DataType;
using paceline::Determinism;
using paceline::ReduceOp;
using paceline::Scope;
using paceline::Status;
using paceline::UniqueId;

struct plComm {
  explicit plComm(Communicator joined) : communicator(std::move(joined)) {}

  Communicator communicator;
  std::atomic<int> inside{0};  // calls
  std::mutex mutex;            // guards last_error
  std::string last_error;
};

namespace {

static_assert(PL_UNIQUE_ID_BYTES == UniqueId::kBytes && sizeof(plUniqueId) == sizeof(UniqueId));

thread_local std::string last_error_of_thread;

plResult_t code_of(Code code) {
  switch (code) {
    case Code::kOk:
      return plSuccess;
    case Code::kInvalidArgument:
      return plInvalidArgument;
    case Code::kMismatch:
      return plMismatch;
    case Code::kTimeout:
      return plTimeout;
    case Code::kPeerLost:
      return plPeerLost;
    case Code::kCancelled:
      return plCancelled;
    case Code::kUnavailable:
      return plUnavailable;
    case Code::kDenied:
      return plDenied;
    case Code::kExhausted:
      return plExhausted;
    case Code::kInternal:
      break;
  }
  return plInternalError;
}

plResult_t note(plComm* comm, const Status& status) {
  if (status.ok()) return plSuccess;
  last_error_of_thread = status.to_string();
  if (comm != nullptr) {
    const std::lock_guard lock(comm->mutex);
    comm->last_error = last_error_of_thread;
  }
  return code_of(status.code());
}

Status invalid(const char* what) { return Status(Code::kInvalidArgument, Scope::kOperation, what); }

// What `body` returns, as a code. Where there is no memory for a text there is only the code.
template <class Body>
plResult_t guarded(plComm* comm, const Body& body) noexcept {
  try {
    return note(comm, body());
  } catch (const std::bad_alloc&) {
    return plExhausted;
  } catch (...) {
    return plInternalError;
  }
}

class Inside {
 public:
  explicit Inside(plComm& comm) : comm_(comm) { comm_.inside.fetch_add(1); }
  ~Inside() { comm_.inside.fetch_sub(1); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  plComm& comm_;
};

// A call on a communicator, inside of it until the error has been noted: then it may be gone.
template <class Body>
plResult_t on(plComm* comm, const Body& body) noexcept {
  if (comm == nullptr) return guarded(comm, [] { return invalid("the communicator is NULL"); });
  const Inside inside(*comm);
  return guarded(comm, [&]() -> Status { return body(comm->communicator); });
}

// An operation on host memory.
template <class Body>
plResult_t operate(plComm* comm, plStream_t stream, const Body& body) noexcept {
  return on(comm, [&](Communicator& communicator) -> Status {
    if (stream != nullptr) return invalid("the stream must be NULL: buffers are host memory");
    return body(communicator);
  });
}

// NULL is found out by the communicator: there is not one for each rank.
std::span<const std::size_t> counts_of(const Communicator& communicator, const size_t* counts) {
  if (counts == nullptr) return {};
  return {counts, static_cast<std::size_t>(communicator.size())};
}

// One that is none is found out by the communicator, as it is in C++.
DataType type_of(plDataType_t type) {
  switch (type) {
    case plInt8:
      return DataType::kInt8;
    case plUint8:
      return DataType::kUInt8;
    case plInt32:
      return DataType::kInt32;
    case plInt64:
      return DataType::kInt64;
    case plUint64:
      return DataType::kUInt64;
    case plFloat16:
      return DataType::kFloat16;
    case plFloat32:
      return DataType::kFloat32;
    case plFloat64:
      return DataType::kFloat64;
    case plBfloat16:
      return DataType::kBFloat16;
  }
  return static_cast<DataType>(std::numeric_limits<std::underlying_type_t<DataType>>::max());
}

ReduceOp op_of(plRedOp_t op) {
  switch (op) {
    case plSum:
      return ReduceOp::kSum;
    case plProd:
      return ReduceOp::kProd;
    case plMax:
      return ReduceOp::kMax;
    case plMin:
      return ReduceOp::kMin;
    case plAvg:
      return ReduceOp::kAvg;
  }
  return static_cast<ReduceOp>(std::numeric_limits<std::underlying_type_t<ReduceOp>>::max());
}

// Of the first version. A later field is looked at where the size covers it.
constexpr std::size_t kFirstConfigBytes = offsetof(plConfig_t, determinism) + sizeof(int64_t);
static_assert(kFirstConfigBytes == sizeof(plConfig_t));

paceline::Result<paceline::InitOptions> options_of(const plConfig_t* config) {
  if (config == nullptr) return paceline::InitOptions();
  if (config->size < kFirstConfigBytes) {
    return invalid("the configuration does not begin with PL_CONFIG_INITIALIZER");
  }
  if (config->size > sizeof(plConfig_t)) {
    return invalid("the configuration is of a later version than this library");
  }
  paceline::InitOptions options{.timeout_ms = std::chrono::milliseconds(config->timeoutMs)};
  switch (config->determinism) {
    case plDeterminismDefault:
      break;
    case plDeterminismFast:
      options.determinism = Determinism::kFast;
      break;
    case plDeterminismRunStable:
      options.determinism = Determinism::kRunStable;
      break;
    case plDeterminismPlacementStable:
      options.determinism = Determinism::kPlacementStable;
      break;
    default:
      return invalid("determinism is none of plDeterminism_t");
  }
  return options;
}

template <class Join>
plResult_t init(plComm_t* comm, const plConfig_t* config, const Join& join) noexcept {
  if (comm != nullptr) *comm = nullptr;
  return guarded(nullptr, [&]() -> Status {
    if (comm == nullptr) return invalid("where the communicator is to be put is NULL");
    const auto options = options_of(config);
    if (!options.ok()) return options.status();
    paceline::Result<Communicator> joined = join(*options);
    if (!joined.ok()) return joined.status();
    *comm = new plComm(*std::move(joined));
    return {};
  });
}

template <class T>
plResult_t tell(plComm_t comm, T* into, T (*what)(const Communicator&)) noexcept {
  return on(comm, [&](Communicator& communicator) -> Status {
    if (into == nullptr) return invalid("where the answer is to be put is NULL");
    *into = what(communicator);
    return {};
  });
}

}  // namespace

plResult_t plGetVersion(int* version) {
  return guarded(nullptr, [&]() -> Status {
    if (version == nullptr) return invalid("where the version is to be put is NULL");
    *version = PACELINE_VERSION_NUMBER;
    return {};
  });
}

plResult_t plGetUniqueId(plUniqueId* id) {
  return guarded(nullptr, [&]() -> Status {
    if (id == nullptr) return invalid("where the id is to be put is NULL");
    const paceline::Result<UniqueId> made = paceline::make_unique_id();
    if (!made.ok()) return made.status();
    std::memcpy(id->internal, made->bytes.data(), UniqueId::kBytes);
    return {};
  });
}

plResult_t plCommInitRank(plComm_t* comm, int nranks, plUniqueId id, int rank) {
  return plCommInitRankConfig(comm, nranks, id, rank, nullptr);
}

plResult_t plCommInitRankConfig(plComm_t* comm, int nranks, plUniqueId id, int rank,
                                const plConfig_t* config) {
  return init(comm, config, [&](const paceline::InitOptions& options) {
    UniqueId meeting;
    std::memcpy(meeting.bytes.data(), id.internal, UniqueId::kBytes);
    return Communicator::init(meeting, rank, nranks, options);
  });
}

plResult_t plCommInitFromEnvironment(plComm_t* comm, const plConfig_t* config) {
  return init(comm, config,
              [](const paceline::InitOptions& options) { return Communicator::init(options); });
}

plResult_t plCommFinalize(plComm_t comm) {
  return on(comm, [](Communicator& communicator) { return communicator.close(); });
}

plResult_t plCommDestroy(plComm_t comm) {
  return guarded(nullptr, [&]() -> Status {
    delete comm;
    return {};
  });
}

plResult_t plCommAbort(plComm_t comm) {
  const plResult_t aborted = on(comm, [](Communicator& communicator) -> Status {
    communicator.abort();
    return {};
  });
  if (aborted != plSuccess) return aborted;
  // They end at once: every call on an aborted communicator does.
  while (comm->inside.load() > 0) std::this_thread::yield();
  return plCommDestroy(comm);
}

plResult_t plCommCount(plComm_t comm, int* count) {
  return tell<int>(comm, count, [](const Communicator& of) { return of.size(); });
}

plResult_t plCommUserRank(plComm_t comm, int* rank) {
  return tell<int>(comm, rank, [](const Communicator& of) { return of.rank(); });
}

plResult_t plCommGetAsyncError(plComm_t comm, plResult_t* error) {
  return tell<plResult_t>(comm, error,
                          [](const Communicator& of) { return code_of(of.failure().code()); });
}

plResult_t plAllReduce(const void* sendbuff, void* recvbuff, size_t count, plDataType_t datatype,
                       plRedOp_t op, plComm_t comm, plStream_t stream) {
  return operate(comm, stream, [&](Communicator& communicator) {
    return communicator.all_reduce(sendbuff, recvbuff, count, type_of(datatype), op_of(op));
  });
}

plResult_t plReduce(const void* sendbuff, void* recvbuff, size_t count, plDataType_t datatype,
                    plRedOp_t op, int root, plComm_t comm, plStream_t stream) {
  return operate(comm, stream, [&](Communicator& communicator) {
    return communicator.reduce(sendbuff, recvbuff, count, type_of(datatype), op_of(op), root);
  });
}

plResult_t plReduceScatter(const void* sendbuff, void* recvbuff, size_t recvcount,
                           plDataType_t datatype, plRedOp_t op, plComm_t comm, plStream_t stream) {
  return operate(comm, stream, [&](Communicator& communicator) {
    return communicator.reduce_scatter(sendbuff, recvbuff, recvcount, type_of(datatype), op_of(op));
  });
}

plResult_t plAllGather(const void* sendbuff, void* recvbuff, size_t sendcount,
                       plDataType_t datatype, plComm_t comm, plStream_t stream) {
  return operate(comm, stream, [&](Communicator& communicator) {
    return communicator.all_gather(sendbuff, recvbuff, sendcount, type_of(datatype));
  });
}

plResult_t plGather(const void* sendbuff, void* recvbuff, size_t count, plDataType_t datatype,
                    int root, plComm_t comm, plStream_t stream) {
  return operate(comm, stream, [&](Communicator& communicator) {
    return communicator.gather(sendbuff, recvbuff, count, type_of(datatype), root);
  });
}

plResult_t plScatter(const void* sendbuff, void* recvbuff, size_t count, plDataType_t datatype,
                     int root, plComm_t comm, plStream_t stream) {
  return operate(comm, stream, [&](Communicator& communicator) {
    return communicator.scatter(sendbuff, recvbuff, count, type_of(datatype), root);
  });
}

plResult_t plAlltoAll(const void* sendbuff, void* recvbuff, size_t count, plDataType_t datatype,
                      plComm_t comm, plStream_t stream) {
  return operate(comm, stream, [&](Communicator& communicator) {
    return communicator.all_to_all(sendbuff, recvbuff, count, type_of(datatype));
  });
}

plResult_t plReduceScatterV(const void* sendbuff, void* recvbuff, const size_t* counts,
                            plDataType_t datatype, plRedOp_t op, plComm_t comm, plStream_t stream) {
  return operate(comm, stream, [&](Communicator& communicator) {
    return communicator.reduce_scatter_v(sendbuff, recvbuff, counts_of(communicator, counts),
                                         type_of(datatype), op_of(op));
  });
}

plResult_t plAllGatherV(const void* sendbuff, void* recvbuff, const size_t* counts,
                        plDataType_t datatype, plComm_t comm, plStream_t stream) {
  return operate(comm, stream, [&](Communicator& communicator) {
    return communicator.all_gather_v(sendbuff, recvbuff, counts_of(communicator, counts),
                                     type_of(datatype));
  });
}

plResult_t plGatherV(const void* sendbuff, void* recvbuff, const size_t* counts,
                     plDataType_t datatype, int root, plComm_t comm, plStream_t stream) {
  return operate(comm, stream, [&](Communicator& communicator) {
    return communicator.gather_v(sendbuff, recvbuff, counts_of(communicator, counts),
                                 type_of(datatype), root);
  });
}

plResult_t plScatterV(const void* sendbuff, void* recvbuff, const size_t* counts,
                      plDataType_t datatype, int root, plComm_t comm, plStream_t stream) {
  return operate(comm, stream, [&](Communicator& communicator) {
    return communicator.scatter_v(sendbuff, recvbuff, counts_of(communicator, counts),
                                  type_of(datatype), root);
  });
}

plResult_t plAlltoAllV(const void* sendbuff, const size_t* sendcounts, void* recvbuff,
                       const size_t* recvcounts, plDataType_t datatype, plComm_t comm,
                       plStream_t stream) {
  return operate(comm, stream, [&](Communicator& communicator) {
    return communicator.all_to_all_v(sendbuff, counts_of(communicator, sendcounts), recvbuff,
                                     counts_of(communicator, recvcounts), type_of(datatype));
  });
}

plResult_t plBroadcast(const void* sendbuff, void* recvbuff, size_t count, plDataType_t datatype,
                       int root, plComm_t comm, plStream_t stream) {
  return operate(comm, stream, [&](Communicator& communicator) {
    const DataType type = type_of(datatype);
    if (communicator.rank() != root) return communicator.broadcast(recvbuff, count, type, root);
    if (recvbuff == nullptr && count > 0) return invalid("a buffer is null");
    // The root's buffer is only read.
    const Status sent = communicator.broadcast(const_cast<void*>(sendbuff), count, type, root);
    if (sent.ok() && recvbuff != sendbuff && count > 0)
      std::memmove(recvbuff, sendbuff, count * paceline::size_of(type));
    return sent;
  });
}

plResult_t plBarrier(plComm_t comm, plStream_t stream) {
  return operate(comm, stream, [](Communicator& communicator) { return communicator.barrier(); });
}

const char* plGetErrorString(plResult_t result) {
  switch (result) {
    case plSuccess:
      return "success";
    case plUnavailable:
      return "unavailable";
    case plInternalError:
      return "internal error";
    case plInvalidArgument:
      return "invalid argument";
    case plMismatch:
      return "mismatch";
    case plPeerLost:
      return "peer lost";
    case plTimeout:
      return "timeout";
    case plCancelled:
      return "cancelled";
    case plDenied:
      return "denied";
    case plExhausted:
      return "exhausted";
  }
  return "unknown result";
}

const char* plGetLastError(plComm_t comm) {
  if (comm == nullptr) return last_error_of_thread.c_str();
  thread_local std::string shown;
  try {
    const std::lock_guard lock(comm->mutex);
    shown = comm->last_error;
  } catch (...) {
    return "";
  }
  return shown.c_str();
}
