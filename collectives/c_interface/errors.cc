#include "collectives/c_interface/calls.h"
#include "collectives/c_interface/of_thread.h"

namespace paceline::c_interface {
namespace {

struct LastErrors {
  std::string last;
  std::string shown;  // the last error of the communicator that was asked for
};

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
  std::string& last = of_thread<LastErrors>().last;
  last = status.to_string();
  // In a forked child the lock may be held by a thread that does not exist there.
  if (comm != nullptr && comm->made_in.is_of_this_process()) {
    const std::lock_guard lock(comm->mutex);
    comm->last_error = last;
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
    case plInProgress:
      return "in progress";
  }
  return "unknown result";
}

const char* plGetLastError(plComm_t comm) {
  using namespace paceline::c_interface;
  if (comm == nullptr || !comm->made_in.is_of_this_process())
    return of_thread<LastErrors>().last.c_str();
  try {
    std::string& shown = of_thread<LastErrors>().shown;
    const std::lock_guard lock(comm->mutex);
    shown = comm->last_error;
    return shown.c_str();
  } catch (...) {
    return "";
  }
}
