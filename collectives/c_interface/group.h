// The calls between plGroupStart and plGroupEnd of one thread, which plGroupEnd makes.
#pragma once

#include <vector>

#include "collectives/backend/backend.h"
#include "collectives/c_interface/calls.h"
#include "collectives/c_interface/started_calls.h"

namespace paceline::c_interface {

/// Not to be shared between threads.
class CallGroup {
 public:
  static CallGroup& of_thread();
  /// The same if plGroupStart has opened it, else null.
  static CallGroup* open_one();

  void start() { ++depth_; }
  /// Makes the calls when the outermost group ends. `work`: gets a handle on them; null: waits.
  plResult_t end(plWork_t* work = nullptr);

  /// Memory that the request refers to must stay until end().
  Status add(plComm& comm, const OperationRequest& request);
  /// A call is wrong: none will be made.
  void refuse() { refused_ = true; }
  bool has_calls_on(const plComm& comm) const;
  /// Drops the calls on it. If there were any, none will be made.
  void forget(const plComm& comm);

 private:
  CallsOn& of(plComm& comm);

  int depth_ = 0;
  std::vector<CallsOn> calls_;  // in the order in which the communicators came
  bool refused_ = false;
};

}  // namespace paceline::c_interface
