#include <cstddef>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>

#include "collectives/c_interface/calls.h"

using namespace paceline::c_interface;
using paceline::Communicator;
using paceline::DataType;
using paceline::ReduceOp;
using paceline::Status;

namespace {

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

}  // namespace

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
