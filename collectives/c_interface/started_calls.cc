#include "collectives/c_interface/started_calls.h"

#include <algorithm>
#include <span>
#include <utility>

#include "collectives/c_interface/broadcast.h"
#include "collectives/c_interface/handles.h"
#include "collectives/communicator_core.h"
#include "collectives/requests.h"

namespace paceline::c_interface {
namespace {

Work start(CommunicatorCore& world, OperationRequest request, std::span<const Tensor> tensors) {
  if (!tensors.empty()) return world.start_many(tensors, request);
  if (world.is_of_another_process()) return world.start(request);  // refuses
  if (auto on_device = world.start_on_device(request)) return *std::move(on_device);
  use_one_buffer(request, world.group().rank);
  return world.start_on_host(request);
}

}  // namespace

StartedCalls::StartedCalls(std::vector<CallsOn> groups) : groups_(std::move(groups)) {
  std::size_t operations = 0;
  for (const CallsOn& group : groups_) {
    inside_.emplace_back(*group.comm);
    operations += group.calls.size() + 1;
  }
  works_.all.reserve(operations);  // once one runs, there must be room to keep it
  for (const auto& [comm, messages, stream, calls] : groups_) {
    CommunicatorCore& world = *comm->communicator.core();
    if (!messages.empty()) {
      OperationRequest exchange = requests::exchange(messages);
      exchange.stream = stream;
      works_.all.push_back({comm, world.start(exchange), stream});
    }
    for (const auto& [request, tensors] : calls)
      works_.all.push_back({comm, start(world, request, tensors), request.stream});
  }
}

bool StartedCalls::test() const {
  return std::ranges::all_of(works_.all, [](const One& one) { return one.work.test(); });
}

template <class Wait>
plResult_t StartedCalls::each(const Wait& wait) const {
  plResult_t first = plSuccess;
  for (const One& one : works_.all) {
    const Status status = wait(one);
    // The communicator may have been freed, unless this is still inside of it.
    const bool enters = inside_.empty() && enter_call(one.comm);
    const plResult_t ended = note(enters || !inside_.empty() ? one.comm : nullptr, status);
    if (enters) one.comm->inside.fetch_sub(1);
    if (first == plSuccess) first = ended;
  }
  return first;
}

plResult_t StartedCalls::wait() const {
  return each([](const One& one) { return one.work.wait(); });
}

plResult_t StartedCalls::wait_as_calls() const {
  return each([](const One& one) { return one.work.wait_on(one.stream); });
}

plResult_t StartedCalls::wait_on(void* stream) const {
  return each([stream](const One& one) { return one.work.wait_on(stream); });
}

}  // namespace paceline::c_interface

using paceline::Status;
using paceline::c_interface::guarded;
using paceline::c_interface::invalid;

namespace {

// What `body` returns for the work. Its errors have been noted.
template <class Body>
plResult_t on_work(plWork* work, const Body& body) noexcept {
  plResult_t ended = plSuccess;
  const plResult_t called = guarded(nullptr, [&]() -> Status {
    if (work == nullptr) return invalid("the work is NULL");
    if (!work->made_in.is_of_this_process()) return work->made_in.refusal("work");
    ended = body(*work);
    return {};
  });
  return called != plSuccess ? called : ended;
}

}  // namespace

plResult_t plWorkTest(plWork_t work, int* ended) {
  return on_work(work, [&](plWork& one) {
    if (ended == nullptr) return guarded(nullptr, [] { return invalid("ended is NULL"); });
    *ended = one.calls.test() ? 1 : 0;
    return plSuccess;
  });
}

plResult_t plWorkWaitOn(plWork_t work, plStream_t stream) {
  return on_work(work, [&](plWork& one) { return one.calls.wait_on(stream); });
}

plResult_t plWorkWait(plWork_t work) {
  return on_work(work, [](plWork& one) {
    const plResult_t ended = one.calls.wait();
    delete &one;
    return ended;
  });
}
