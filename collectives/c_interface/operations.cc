#include <cstddef>
#include <utility>

#include "collectives/c_interface/broadcast.h"
#include "collectives/c_interface/calls.h"
#include "collectives/c_interface/group.h"
#include "collectives/c_interface/words.h"
#include "collectives/communicator_core.h"
#include "collectives/requests.h"

using namespace paceline::c_interface;
using paceline::Communicator;
using paceline::OperationRequest;
using paceline::Status;
namespace requests = paceline::requests;

namespace {

// Puts the operation into the open group of this thread, or runs it at once. `make` returns its
// request, for a number of ranks.
template <class Make>
plResult_t operate(plComm* comm, plStream_t stream, const Make& make) noexcept {
  CallGroup* const group = CallGroup::open_one();
  const plResult_t made = on(comm, [&](Communicator& communicator) -> Status {
    paceline::CommunicatorCore& core = *communicator.core();
    if (stream != nullptr && !core.may_have_devices())
      return invalid("the stream must be NULL: buffers are host memory");
    OperationRequest request = make(communicator.size());
    request.stream = stream;
    if (group != nullptr) return group->add(*comm, request);
    if (const auto on_device = core.start_on_device(request)) return on_device->wait_on(stream);
    use_one_buffer(request, communicator.rank());
    return core.run_on_host(std::move(request));
  });
  if (made != plSuccess && group != nullptr) group->refuse();
  return made;
}

// NULL counts are refused by the communicator, like counts that are not one for each rank.
requests::Counts per_rank(const size_t* counts, int ranks) {
  if (counts == nullptr) return {};
  return {counts, static_cast<std::size_t>(ranks)};
}

}  // namespace

plResult_t plAllReduce(const void* sendbuff, void* recvbuff, size_t count, plDataType_t datatype,
                       plRedOp_t op, plComm_t comm, plStream_t stream) {
  return operate(comm, stream, [&](int) {
    return requests::all_reduce(sendbuff, recvbuff, count, type_of(datatype), rule_of(op, comm));
  });
}

plResult_t plReduce(const void* sendbuff, void* recvbuff, size_t count, plDataType_t datatype,
                    plRedOp_t op, int root, plComm_t comm, plStream_t stream) {
  return operate(comm, stream, [&](int) {
    return requests::reduce(sendbuff, recvbuff, count, type_of(datatype), rule_of(op, comm), root);
  });
}

plResult_t plReduceScatter(const void* sendbuff, void* recvbuff, size_t recvcount,
                           plDataType_t datatype, plRedOp_t op, plComm_t comm, plStream_t stream) {
  return operate(comm, stream, [&](int) {
    return requests::reduce_scatter(sendbuff, recvbuff, recvcount, type_of(datatype),
                                    rule_of(op, comm));
  });
}

plResult_t plAllGather(const void* sendbuff, void* recvbuff, size_t sendcount,
                       plDataType_t datatype, plComm_t comm, plStream_t stream) {
  return operate(comm, stream, [&](int) {
    return requests::all_gather(sendbuff, recvbuff, sendcount, type_of(datatype));
  });
}

plResult_t plGather(const void* sendbuff, void* recvbuff, size_t count, plDataType_t datatype,
                    int root, plComm_t comm, plStream_t stream) {
  return operate(comm, stream, [&](int) {
    return requests::gather(sendbuff, recvbuff, count, type_of(datatype), root);
  });
}

plResult_t plScatter(const void* sendbuff, void* recvbuff, size_t count, plDataType_t datatype,
                     int root, plComm_t comm, plStream_t stream) {
  return operate(comm, stream, [&](int) {
    return requests::scatter(sendbuff, recvbuff, count, type_of(datatype), root);
  });
}

plResult_t plAlltoAll(const void* sendbuff, void* recvbuff, size_t count, plDataType_t datatype,
                      plComm_t comm, plStream_t stream) {
  return operate(comm, stream, [&](int) {
    return requests::all_to_all(sendbuff, recvbuff, count, type_of(datatype));
  });
}

plResult_t plReduceScatterV(const void* sendbuff, void* recvbuff, const size_t* counts,
                            plDataType_t datatype, plRedOp_t op, plComm_t comm, plStream_t stream) {
  return operate(comm, stream, [&](int ranks) {
    return requests::reduce_scatter_v(sendbuff, recvbuff, per_rank(counts, ranks),
                                      type_of(datatype), rule_of(op, comm));
  });
}

plResult_t plAllGatherV(const void* sendbuff, void* recvbuff, const size_t* counts,
                        plDataType_t datatype, plComm_t comm, plStream_t stream) {
  return operate(comm, stream, [&](int ranks) {
    return requests::all_gather_v(sendbuff, recvbuff, per_rank(counts, ranks), type_of(datatype));
  });
}

plResult_t plGatherV(const void* sendbuff, void* recvbuff, const size_t* counts,
                     plDataType_t datatype, int root, plComm_t comm, plStream_t stream) {
  return operate(comm, stream, [&](int ranks) {
    return requests::gather_v(sendbuff, recvbuff, per_rank(counts, ranks), type_of(datatype), root);
  });
}

plResult_t plScatterV(const void* sendbuff, void* recvbuff, const size_t* counts,
                      plDataType_t datatype, int root, plComm_t comm, plStream_t stream) {
  return operate(comm, stream, [&](int ranks) {
    return requests::scatter_v(sendbuff, recvbuff, per_rank(counts, ranks), type_of(datatype),
                               root);
  });
}

plResult_t plAlltoAllV(const void* sendbuff, const size_t* sendcounts, void* recvbuff,
                       const size_t* recvcounts, plDataType_t datatype, plComm_t comm,
                       plStream_t stream) {
  return operate(comm, stream, [&](int ranks) {
    return requests::all_to_all_v(sendbuff, per_rank(sendcounts, ranks), recvbuff,
                                  per_rank(recvcounts, ranks), type_of(datatype));
  });
}

plResult_t plBcast(void* buff, size_t count, plDataType_t datatype, int root, plComm_t comm,
                   plStream_t stream) {
  return plBroadcast(buff, buff, count, datatype, root, comm, stream);
}

plResult_t plBroadcast(const void* sendbuff, void* recvbuff, size_t count, plDataType_t datatype,
                       int root, plComm_t comm, plStream_t stream) {
  return operate(comm, stream, [&](int) {
    return broadcast_of_two(sendbuff, recvbuff, count, type_of(datatype), root);
  });
}

plResult_t plBarrier(plComm_t comm, plStream_t stream) {
  return operate(comm, stream, [](int) { return requests::barrier(); });
}

plResult_t plSend(const void* sendbuff, size_t count, plDataType_t datatype, int peer,
                  plComm_t comm, plStream_t stream) {
  return operate(comm, stream,
                 [&](int) { return requests::send(sendbuff, count, type_of(datatype), peer); });
}

plResult_t plRecv(void* recvbuff, size_t count, plDataType_t datatype, int peer, plComm_t comm,
                  plStream_t stream) {
  return operate(comm, stream,
                 [&](int) { return requests::receive(recvbuff, count, type_of(datatype), peer); });
}

plResult_t plGroupStart(void) {
  CallGroup::of_thread().start();
  return plSuccess;
}

plResult_t plGroupEnd(void) { return CallGroup::of_thread().end(); }

plResult_t plGroupEndAsync(plWork_t* work) {
  CallGroup& group = CallGroup::of_thread();
  if (work == nullptr) {
    if (CallGroup::open_one() != nullptr) group.refuse();
    (void)group.end();
    return guarded(nullptr, [] { return invalid("work is NULL"); });
  }
  *work = nullptr;
  return group.end(work);
}
