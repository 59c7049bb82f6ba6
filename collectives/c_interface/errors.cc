#include "collectives/c_interface/calls.h"

namespace paceline::c_interface {
namespace {

thread_local std::string last_error_of_thread;

}  // namespace

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
  // In a forked child a thread that it does not have may hold the lock.
  if (comm != nullptr && comm->made_in.is_of_this_process()) {
    const std::lock_guard lock(comm->mutex);
    comm->last_error = last_error_of_thread;
  }
  return code_of(status.code());
}

}  // namespace paceline::c_interface

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
  if (comm == nullptr || !comm->made_in.is_of_this_process())
    return paceline::c_interface::last_error_of_thread.c_str();
  thread_local std::string shown;
  try {
    const std::lock_guard lock(comm->mutex);
    shown = comm->last_error;
  } catch (...) {
    return "";
  }
  return shown.c_str();
}
