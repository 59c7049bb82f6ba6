#include "tests/mixed/port.h"

#include <string>

#include "comm/base/text.h"
#include "tests/harness/calls_in_c.h"
#include "tests/harness/message_trial.h"

namespace paceline::testing::mixed {
namespace {

Code code_of(plResult_t result) {
  switch (result) {
    case plInvalidArgument:
      return Code::kInvalidArgument;
    case plMismatch:
      return Code::kMismatch;
    case plPeerLost:
      return Code::kPeerLost;
    case plTimeout:
      return Code::kTimeout;
    case plCancelled:
      return Code::kCancelled;
    case plUnavailable:
      return Code::kUnavailable;
    case plDenied:
      return Code::kDenied;
    case plExhausted:
      return Code::kExhausted;
    default:
      return Code::kInternal;
  }
}

// Status::to_string() ends in "[rank 2 on vm] in …".
int culprit_of(const std::string& text) {
  const std::size_t begin = text.find("[rank ");
  if (begin == std::string::npos) return -1;
  return parse_number<int>(text.substr(begin + 6, text.find(' ', begin + 6) - begin - 6))
      .value_or(-1);
}

}  // namespace

Status Port::status_of(plResult_t result) const {
  if (result == plSuccess) return {};
  const std::string text = plGetLastError(comm_);
  return Status(code_of(result), Scope::kOperation, text).with_culprit({.rank = culprit_of(text)});
}

int Port::rank() {
  int rank = -1;
  if (!is_in_c()) return world().rank();
  return plCommUserRank(comm_, &rank) == plSuccess ? rank : -1;
}

int Port::size() {
  int size = -1;
  if (!is_in_c()) return world().size();
  return plCommCount(comm_, &size) == plSuccess ? size : -1;
}

Status Port::run(const Call& call, MadeCall& made) {
  return is_in_c() ? status_of(call_in_c(comm_, call, made)) : made.run(world());
}

Status Port::exchange(std::span<const Message> messages) {
  if (!is_in_c()) return world().exchange(messages);
  (void)plGroupStart();
  for (const auto& [in, out, count, peer, type, is_sent] : messages) {
    if (is_sent) (void)plSend(in, count, c_type(type), peer, comm_, nullptr);
    if (!is_sent) (void)plRecv(out, count, c_type(type), peer, comm_, nullptr);
  }
  return status_of(plGroupEnd());
}

Status Port::send(const void* in, std::size_t count, DataType type, int peer) {
  return is_in_c() ? status_of(plSend(in, count, c_type(type), peer, comm_, nullptr))
                   : world().send(in, count, type, peer);
}

Status Port::receive(void* out, std::size_t count, DataType type, int peer) {
  return is_in_c() ? status_of(plRecv(out, count, c_type(type), peer, comm_, nullptr))
                   : world().receive(out, count, type, peer);
}

Status Port::broadcast(void* buffer, std::size_t count, DataType type, int root) {
  return is_in_c() ? status_of(plBcast(buffer, count, c_type(type), root, comm_, nullptr))
                   : world().broadcast(buffer, count, type, root);
}

Status Port::barrier() {
  return is_in_c() ? status_of(plBarrier(comm_, nullptr)) : world().barrier();
}

Result<std::optional<Port>> Port::split(int color, int key) {
  if (is_in_c()) {
    plComm_t made = nullptr;
    if (const Status status = status_of(plCommSplit(comm_, color, key, &made, nullptr));
        !status.ok())
      return status;
    return made == nullptr ? std::optional<Port>() : std::optional<Port>(Port(made));
  }
  auto made = world().split(color, key);
  if (!made.ok()) return made.status();
  return made->has_value() ? std::optional<Port>(Port(**std::move(made))) : std::optional<Port>();
}

Status Port::close() { return is_in_c() ? status_of(plCommFinalize(comm_)) : world().close(); }

void Port::abort() {
  if (!is_in_c()) return world().abort();
  (void)plCommAbort(std::exchange(comm_, nullptr));
}

void Port::destroy() {
  if (comm_ != nullptr) (void)plCommDestroy(std::exchange(comm_, nullptr));
  own_.reset();
}

}  // namespace paceline::testing::mixed
