#include "collectives/c_interface/group.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "collectives/c_interface/broadcast.h"
#include "collectives/c_interface/of_thread.h"
#include "collectives/communicator_core.h"
#include "collectives/requests.h"

namespace paceline::c_interface {
namespace {

// The operations of a group. Their arguments are borrowed, so nothing leaves before all have ended.
class Started {
 public:
  // Once one runs, there must be room to keep it.
  explicit Started(std::size_t most) { works_.reserve(most); }
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;
  ~Started() {
    for (const One& one : works_) (void)one.work.wait_on(one.stream);
  }

  void add(plComm& comm, Work work, void* stream) {
    works_.push_back({&comm, std::move(work), stream});
  }

  // The first error; each is noted for its communicator. Operations on device memory may go on.
  plResult_t wait() {
    plResult_t first = plSuccess;
    for (const One& one : works_) {
      const plResult_t ended = note(one.comm, one.work.wait_on(one.stream));
      if (first == plSuccess) first = ended;
    }
    return first;
  }

 private:
  struct One {
    plComm* comm;
    Work work;
    void* stream;
  };
  std::vector<One> works_;
};

// Both are all-reduces, of the same type and rule.
bool is_reduced_alike(const OperationRequest& one, const OperationRequest& other) {
  return one.signature.kind == other.signature.kind && one.signature.type == other.signature.type &&
         one.signature.op == other.signature.op && one.factor == other.factor &&
         one.stream == other.stream;
}

// For CommunicatorCore::start_many().
OperationRequest of_no_array(OperationRequest request) {
  request.input = nullptr;
  request.output = nullptr;
  request.signature.count = 0;
  return request;
}

Work started_call(CommunicatorCore& world, OperationRequest request, std::span<const Tensor> tensors) {
  if (!tensors.empty()) return world.start_many(tensors, request);
  if (auto on_device = world.start_on_device(request)) return *std::move(on_device);
  use_one_buffer(request, world.group().rank);
  return world.start(request);
}

}  // namespace

CallGroup& CallGroup::of_thread() { return c_interface::of_thread<CallGroup>(); }

CallGroup* CallGroup::open_one() {
  CallGroup& group = of_thread();
  return group.depth_ > 0 ? &group : nullptr;
}

CallGroup::CallsOn& CallGroup::of(plComm& comm) {
  const auto found = std::ranges::find(calls_, &comm, &CallsOn::comm);
  return found != calls_.end() ? *found : calls_.emplace_back(CallsOn{.comm = &comm});
}

bool CallGroup::has_calls_on(const plComm& comm) const {
  return std::ranges::find(calls_, &comm, &CallsOn::comm) != calls_.end();
}

void CallGroup::forget(const plComm& comm) {
  if (std::erase_if(calls_, [&](const CallsOn& one) { return one.comm == &comm; }) > 0) refuse();
}

Status CallGroup::add(plComm& comm, const OperationRequest& request) {
  const Signature& signature = request.signature;
  auto& [_, messages, stream, calls] = of(comm);
  const bool is_all_reduce = signature.kind == OperationKind::kAllReduce;
  if (!is_collective(signature.kind)) {
    if (!messages.empty() && stream != request.stream)
      return invalid("the messages of one group must use the same stream");
    stream = request.stream;
    const bool is_sent = signature.kind == OperationKind::kSend;
    messages.push_back(is_sent ? Message::sent(request.input, signature.count, signature.type,
                                               signature.root)
                               : Message::received(request.output, signature.count,
                                                   signature.type, signature.root));
  } else if (!is_all_reduce) {
    calls.push_back({.request = request});
  } else {
    if (calls.empty() || !is_reduced_alike(calls.back().request, request))
      calls.push_back({.request = of_no_array(request)});
    calls.back().tensors.push_back({request.input, request.output, signature.count});
  }
  return {};
}

plResult_t CallGroup::end() {
  if (depth_ == 0)
    return guarded(nullptr, [] { return invalid("plGroupEnd was called without plGroupStart"); });
  if (--depth_ > 0) return plSuccess;
  const std::vector<CallsOn> calls = std::exchange(calls_, {});
  const bool refused = std::exchange(refused_, false);
  plResult_t made = plSuccess;
  const plResult_t failed = guarded(nullptr, [&]() -> Status {
    if (refused) return invalid("the group was not run, because one of its calls was refused");
    made = make(calls);
    return {};
  });
  return failed != plSuccess ? failed : made;
}

// Of each communicator the messages first: who waits for one may have calls to make behind it.
plResult_t CallGroup::make(const std::vector<CallsOn>& groups) {
  std::deque<Inside> inside;
  std::size_t operations = 0;
  for (const CallsOn& group : groups) {
    inside.emplace_back(*group.comm);
    operations += group.calls.size() + 1;
  }
  Started started(operations);
  for (const auto& [comm, messages, stream, calls] : groups) {
    CommunicatorCore& world = *comm->communicator.core();
    if (!messages.empty()) {
      OperationRequest exchange = requests::exchange(messages);
      exchange.stream = stream;
      started.add(*comm, world.start(exchange), stream);
    }
    for (const auto& [call, tensors] : calls)
      started.add(*comm, started_call(world, call, tensors), call.stream);
  }
  return started.wait();
}

}  // namespace paceline::c_interface
