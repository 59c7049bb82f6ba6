// The calls of a group, once they run: until they have ended, they borrow their lists from here.
#pragma once

#include <deque>
#include <utility>
#include <vector>

#include <paceline/message.h>
#include <paceline/tensor.h>
#include <paceline/work.h>

#include "collectives/backend/backend.h"
#include "collectives/c_interface/calls.h"

namespace paceline::c_interface {

/// The calls of a group on one communicator.
struct CallsOn {
  struct Call {
    OperationRequest request;
    std::vector<Tensor> tensors{};  // all-reduces that follow each other, alike in type and rule
  };

  plComm* comm;
  std::vector<Message> messages{};
  void* stream = nullptr;  // of the messages
  std::vector<Call> calls{};
};

class StartedCalls {
 public:
  /// Starts them, inside of their communicators. The messages of a communicator come first, because
  /// a rank that waits for one may have to make its calls after that.
  explicit StartedCalls(std::vector<CallsOn> groups);
  /// The communicators may be freed from now on, also by plCommAbort.
  void leave_communicators() { inside_.clear(); }

  bool test() const;
  /// Waits until all have ended. The first error; each is noted for its communicator.
  plResult_t wait() const;
  /// Waits until each call might return, had it been made by itself.
  plResult_t wait_as_calls() const;
  /// Lets the stream wait for all: Work::wait_on().
  plResult_t wait_on(void* stream) const;

 private:
  struct One {
    plComm* comm;
    Work work;
    void* stream;
  };
  // The destructor waits for all that borrow something.
  struct Works {
    ~Works() {
      for (const One& one : all) (void)one.work.wait_on(one.stream);
    }
    std::vector<One> all{};
  };

  template <class Wait>
  plResult_t each(const Wait& wait) const;

  const std::vector<CallsOn> groups_;
  std::deque<Inside> inside_;
  Works works_;
};

}  // namespace paceline::c_interface

/// The handle of plGroupEndAsync.
struct plWork {
  explicit plWork(std::vector<paceline::c_interface::CallsOn> groups) : calls(std::move(groups)) {}

  const paceline::ProcessMark made_in;
  paceline::c_interface::StartedCalls calls;
};
