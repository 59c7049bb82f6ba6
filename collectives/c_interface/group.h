// The calls between plGroupStart and plGroupEnd of one thread, which plGroupEnd makes.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include <paceline/communicator.h>
#include <paceline/message.h>
#include <paceline/reduce_rule.h>
#include <paceline/tensor.h>
#include <paceline/types.h>
#include <paceline/work.h>

#include "collectives/c_interface/calls.h"

namespace paceline::c_interface {

/// Not to be shared between threads.
class CallGroup {
 public:
  using Start = std::function<Work(Communicator&)>;

  static CallGroup& of_thread();
  /// The same if plGroupStart has opened it, else null.
  static CallGroup* open_one();

  void start() { ++depth_; }
  /// Makes the calls and waits for them when the outermost group ends.
  plResult_t end();

  /// What its arguments refer to must stay until end().
  void add(plComm& comm, Start call) { of(comm).calls.push_back({.start = std::move(call)}); }
  void add(plComm& comm, const Message& message) { of(comm).messages.push_back(message); }
  void add(plComm& comm, const Tensor& tensor, DataType type, const ReduceRule& rule);
  /// A call is wrong: none will be made.
  void refuse() { refused_ = true; }
  bool has_calls_on(const plComm& comm) const;
  /// Drops the calls on it. If there were any, none will be made.
  void forget(const plComm& comm);

 private:
  // All-reduces that follow each other, alike in type and rule; or any other operation.
  struct Call {
    Start start{};
    std::vector<Tensor> tensors{};
    DataType type{};
    ReduceRule rule = ReduceOp::kSum;
  };
  struct CallsOn {
    plComm* comm;
    std::vector<Message> messages;
    std::vector<Call> calls;
  };

  CallsOn& of(plComm& comm);
  static plResult_t make(const std::vector<CallsOn>& groups);

  int depth_ = 0;
  std::vector<CallsOn> calls_;  // in the order in which the communicators came
  bool refused_ = false;
};

}  // namespace paceline::c_interface
