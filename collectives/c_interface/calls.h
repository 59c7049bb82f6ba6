// What the files of the C interface share: the communicator behind the handle, codes for statuses,
// a text for the last error, and no exception past a call.
#pragma once

#include <atomic>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <paceline/communicator.h>
#include <paceline/paceline.h>

#include "comm/base/process_mark.h"

struct plComm {
  explicit plComm(paceline::Communicator joined) : communicator(std::move(joined)) {}

  const paceline::ProcessMark made_in;
  paceline::Communicator communicator;
  std::atomic<int> inside{0};  // calls
  std::mutex splitting;        // held by a split, which is two operations
  std::mutex mutex;            // guards what follows
  std::string last_error;
  std::vector<std::optional<paceline::ReduceRule::Factor>> factors;  // of ops that were made
};

namespace paceline::c_interface {

plResult_t code_of(Code code);

/// Keeps the text of the error for plGetLastError: for the thread, and for the communicator, except
/// in a forked child.
plResult_t note(plComm* comm, const Status& status);

inline Status invalid(const char* what) {
  return Status(Code::kInvalidArgument, Scope::kOperation, what);
}

/// What `body` returns, as a code. Where there is no memory for a text there is only the code.
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

/// A call on a communicator that plCommAbort waits for.
class Inside {
 public:
  explicit Inside(plComm& comm) : comm_(comm) { comm_.inside.fetch_add(1); }
  ~Inside() { comm_.inside.fetch_sub(1); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  plComm& comm_;
};

/// What `body` does with the communicator, inside of it until the error has been noted: then it may
/// be gone.
template <class Body>
plResult_t on(plComm* comm, const Body& body) noexcept {
  if (comm == nullptr) return guarded(comm, [] { return invalid("the communicator is NULL"); });
  if (!comm->made_in.is_of_this_process()) [[unlikely]]
    return guarded(comm, [&] { return comm->made_in.refusal("communicator"); });
  const Inside inside(*comm);
  return guarded(comm, [&]() -> Status { return body(comm->communicator); });
}

}  // namespace paceline::c_interface
