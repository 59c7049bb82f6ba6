#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "collectives/c_interface/calls.h"
#include "collectives/c_interface/group.h"
#include "collectives/c_interface/words.h"

using namespace paceline::c_interface;
using paceline::Communicator;
using paceline::DataType;
using paceline::Message;
using paceline::ReduceRule;
using paceline::Status;
using paceline::Tensor;
using paceline::Work;

namespace {

// A communicator whose calls go on in the background.
class Background {
 public:
  explicit Background(Communicator& communicator) : communicator_(communicator) {}

  int rank() const { return communicator_.rank(); }
  int size() const { return communicator_.size(); }

  template <class... Arguments>
  Work barrier(Arguments... call) const {
    return communicator_.barrier_async(call...);
  }
  template <class... Arguments>
  Work broadcast(Arguments... call) const {
    return communicator_.broadcast_async(call...);
  }
  template <class... Arguments>
  Work reduce(Arguments... call) const {
    return communicator_.reduce_async(call...);
  }
  template <class... Arguments>
  Work reduce_scatter(Arguments... call) const {
    return communicator_.reduce_scatter_async(call...);
  }
  template <class... Arguments>
  Work all_gather(Arguments... call) const {
    return communicator_.all_gather_async(call...);
  }
  template <class... Arguments>
  Work gather(Arguments... call) const {
    return communicator_.gather_async(call...);
  }
  template <class... Arguments>
  Work scatter(Arguments... call) const {
    return communicator_.scatter_async(call...);
  }
  template <class... Arguments>
  Work all_to_all(Arguments... call) const {
    return communicator_.all_to_all_async(call...);
  }
  template <class... Arguments>
  Work reduce_scatter_v(Arguments... call) const {
    return communicator_.reduce_scatter_v_async(call...);
  }
  template <class... Arguments>
  Work all_gather_v(Arguments... call) const {
    return communicator_.all_gather_v_async(call...);
  }
  template <class... Arguments>
  Work gather_v(Arguments... call) const {
    return communicator_.gather_v_async(call...);
  }
  template <class... Arguments>
  Work scatter_v(Arguments... call) const {
    return communicator_.scatter_v_async(call...);
  }
  template <class... Arguments>
  Work all_to_all_v(Arguments... call) const {
    return communicator_.all_to_all_v_async(call...);
  }

 private:
  Communicator& communicator_;
};

// What `add` puts into the group that is open, else what `now` does at once.
template <class Add, class Now>
plResult_t call(plComm* comm, plStream_t stream, const Add& add, const Now& now) noexcept {
  CallGroup* const group = CallGroup::open_one();
  const auto make = [&](Communicator& communicator) -> Status {
    if (stream != nullptr) return invalid("the stream must be NULL: buffers are host memory");
    if (group == nullptr) return now(communicator);
    add(*group);
    return {};
  };
  const plResult_t made = on(comm, make);
  if (made != plSuccess && group != nullptr) group->refuse();
  return made;
}

// A collective operation on host memory. `body` is kept: it has what it needs.
template <class Body>
plResult_t operate(plComm* comm, plStream_t stream, const Body& body) noexcept {
  const auto add = [&](CallGroup& group) {
    group.add(*comm, [body](Communicator& communicator) { return body(Background(communicator)); });
  };
  return call(comm, stream, add, [&](Communicator& communicator) { return body(communicator); });
}

plResult_t pass_message(plComm* comm, plStream_t stream, const Message& message) noexcept {
  return call(
      comm, stream, [&](CallGroup& group) { group.add(*comm, message); },
      [&](Communicator& communicator) {
        const auto [in, out, count, peer, type, is_sent] = message;
        return is_sent ? communicator.send(in, count, type, peer)
                       : communicator.receive(out, count, type, peer);
      });
}

// NULL is found out by the communicator: there is not one for each rank.
template <class World>
std::span<const std::size_t> counts_of(const World& communicator, const size_t* counts) {
  if (counts == nullptr) return {};
  return {counts, static_cast<std::size_t>(communicator.size())};
}

}  // namespace

plResult_t plAllReduce(const void* sendbuff, void* recvbuff, size_t count, plDataType_t datatype,
                       plRedOp_t op, plComm_t comm, plStream_t stream) {
  const Tensor tensor{sendbuff, recvbuff, count};
  const DataType type = type_of(datatype);
  const ReduceRule rule = rule_of(op, comm);
  return call(
      comm, stream, [&](CallGroup& group) { group.add(*comm, tensor, type, rule); },
      [&](Communicator& communicator) {
        return communicator.all_reduce(sendbuff, recvbuff, count, type, rule);
      });
}

plResult_t plReduce(const void* sendbuff, void* recvbuff, size_t count, plDataType_t datatype,
                    plRedOp_t op, int root, plComm_t comm, plStream_t stream) {
  const ReduceRule rule = rule_of(op, comm);
  return operate(comm, stream, [=](auto&& communicator) {
    return communicator.reduce(sendbuff, recvbuff, count, type_of(datatype), rule, root);
  });
}

plResult_t plReduceScatter(const void* sendbuff, void* recvbuff, size_t recvcount,
                           plDataType_t datatype, plRedOp_t op, plComm_t comm, plStream_t stream) {
  const ReduceRule rule = rule_of(op, comm);
  return operate(comm, stream, [=](auto&& communicator) {
    return communicator.reduce_scatter(sendbuff, recvbuff, recvcount, type_of(datatype), rule);
  });
}

plResult_t plAllGather(const void* sendbuff, void* recvbuff, size_t sendcount,
                       plDataType_t datatype, plComm_t comm, plStream_t stream) {
  return operate(comm, stream, [=](auto&& communicator) {
    return communicator.all_gather(sendbuff, recvbuff, sendcount, type_of(datatype));
  });
}

plResult_t plGather(const void* sendbuff, void* recvbuff, size_t count, plDataType_t datatype,
                    int root, plComm_t comm, plStream_t stream) {
  return operate(comm, stream, [=](auto&& communicator) {
    return communicator.gather(sendbuff, recvbuff, count, type_of(datatype), root);
  });
}

plResult_t plScatter(const void* sendbuff, void* recvbuff, size_t count, plDataType_t datatype,
                     int root, plComm_t comm, plStream_t stream) {
  return operate(comm, stream, [=](auto&& communicator) {
    return communicator.scatter(sendbuff, recvbuff, count, type_of(datatype), root);
  });
}

plResult_t plAlltoAll(const void* sendbuff, void* recvbuff, size_t count, plDataType_t datatype,
                      plComm_t comm, plStream_t stream) {
  return operate(comm, stream, [=](auto&& communicator) {
    return communicator.all_to_all(sendbuff, recvbuff, count, type_of(datatype));
  });
}

plResult_t plReduceScatterV(const void* sendbuff, void* recvbuff, const size_t* counts,
                            plDataType_t datatype, plRedOp_t op, plComm_t comm, plStream_t stream) {
  const ReduceRule rule = rule_of(op, comm);
  return operate(comm, stream, [=](auto&& communicator) {
    return communicator.reduce_scatter_v(sendbuff, recvbuff, counts_of(communicator, counts),
                                         type_of(datatype), rule);
  });
}

plResult_t plAllGatherV(const void* sendbuff, void* recvbuff, const size_t* counts,
                        plDataType_t datatype, plComm_t comm, plStream_t stream) {
  return operate(comm, stream, [=](auto&& communicator) {
    return communicator.all_gather_v(sendbuff, recvbuff, counts_of(communicator, counts),
                                     type_of(datatype));
  });
}

plResult_t plGatherV(const void* sendbuff, void* recvbuff, const size_t* counts,
                     plDataType_t datatype, int root, plComm_t comm, plStream_t stream) {
  return operate(comm, stream, [=](auto&& communicator) {
    return communicator.gather_v(sendbuff, recvbuff, counts_of(communicator, counts),
                                 type_of(datatype), root);
  });
}

plResult_t plScatterV(const void* sendbuff, void* recvbuff, const size_t* counts,
                      plDataType_t datatype, int root, plComm_t comm, plStream_t stream) {
  return operate(comm, stream, [=](auto&& communicator) {
    return communicator.scatter_v(sendbuff, recvbuff, counts_of(communicator, counts),
                                  type_of(datatype), root);
  });
}

plResult_t plAlltoAllV(const void* sendbuff, const size_t* sendcounts, void* recvbuff,
                       const size_t* recvcounts, plDataType_t datatype, plComm_t comm,
                       plStream_t stream) {
  return operate(comm, stream, [=](auto&& communicator) {
    return communicator.all_to_all_v(sendbuff, counts_of(communicator, sendcounts), recvbuff,
                                     counts_of(communicator, recvcounts), type_of(datatype));
  });
}

plResult_t plBcast(void* buff, size_t count, plDataType_t datatype, int root, plComm_t comm,
                   plStream_t stream) {
  return plBroadcast(buff, buff, count, datatype, root, comm, stream);
}

plResult_t plBroadcast(const void* sendbuff, void* recvbuff, size_t count, plDataType_t datatype,
                       int root, plComm_t comm, plStream_t stream) {
  return operate(comm, stream, [=](auto&& communicator) {
    const DataType type = type_of(datatype);
    const bool is_root = communicator.rank() == root;
    const bool is_whole = recvbuff != nullptr && (sendbuff != nullptr || !is_root);
    // What is not is found out by the communicator.
    const std::size_t element = paceline::size_of(type);
    if (is_root && is_whole && recvbuff != sendbuff && element > 0 &&
        count <= SIZE_MAX / 2 / element)
      std::memmove(recvbuff, sendbuff, count * element);
    return communicator.broadcast(is_whole ? recvbuff : nullptr, count, type, root);
  });
}

plResult_t plBarrier(plComm_t comm, plStream_t stream) {
  return operate(comm, stream, [](auto&& communicator) { return communicator.barrier(); });
}

plResult_t plSend(const void* sendbuff, size_t count, plDataType_t datatype, int peer,
                  plComm_t comm, plStream_t stream) {
  return pass_message(comm, stream, Message::sent(sendbuff, count, type_of(datatype), peer));
}

plResult_t plRecv(void* recvbuff, size_t count, plDataType_t datatype, int peer, plComm_t comm,
                  plStream_t stream) {
  return pass_message(comm, stream, Message::received(recvbuff, count, type_of(datatype), peer));
}

plResult_t plGroupStart(void) {
  CallGroup::of_thread().start();
  return plSuccess;
}

plResult_t plGroupEnd(void) { return CallGroup::of_thread().end(); }
