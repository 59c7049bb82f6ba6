#include "collectives/c_interface/group.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "collectives/c_interface/of_thread.h"

namespace paceline::c_interface {
namespace {

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

}  // namespace

CallGroup& CallGroup::of_thread() { return c_interface::of_thread<CallGroup>(); }

CallGroup* CallGroup::open_one() {
  CallGroup& group = of_thread();
  return group.depth_ > 0 ? &group : nullptr;
}

CallsOn& CallGroup::of(plComm& comm) {
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
    messages.push_back(
        is_sent
            ? Message::sent(request.input, signature.count, signature.type, signature.root)
            : Message::received(request.output, signature.count, signature.type, signature.root));
  } else if (!is_all_reduce) {
    calls.push_back({.request = request});
  } else {
    if (calls.empty() || !is_reduced_alike(calls.back().request, request))
      calls.push_back({.request = of_no_array(request)});
    calls.back().tensors.push_back({request.input, request.output, signature.count});
  }
  return {};
}

plResult_t CallGroup::end(plWork_t* work) {
  if (depth_ == 0)
    return guarded(nullptr, [] { return invalid("plGroupEnd was called without plGroupStart"); });
  if (depth_ > 1 && work != nullptr) {
    refuse();
    --depth_;
    return guarded(nullptr,
                   [] { return invalid("only the outermost group may end by plGroupEndAsync"); });
  }
  if (--depth_ > 0) return plSuccess;
  std::vector<CallsOn> calls = std::exchange(calls_, {});
  const bool refused = std::exchange(refused_, false);
  plResult_t made = plSuccess;
  const plResult_t failed = guarded(nullptr, [&]() -> Status {
    if (refused) return invalid("the group was not run, because one of its calls was refused");
    auto started = std::make_unique<plWork>(std::move(calls));
    if (work != nullptr) {
      started->calls.leave_communicators();
      *work = started.release();
    } else {
      made = started->calls.wait_as_calls();
    }
    return {};
  });
  return failed != plSuccess ? failed : made;
}

}  // namespace paceline::c_interface
