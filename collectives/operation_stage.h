// An operation that is carried out in parts when something else is ready: a copy from a device's
// memory, or the device itself.
#pragma once

#include <paceline/status.h>

#include "collectives/backend/backend.h"

namespace paceline {

/// Everything with the engine's baton held.
class OperationStage {
 public:
  /// The request of the next part, if it may begin. Null: not yet. The operations after it wait,
  /// too. Asked again and again; the answer stays the same until the part ends.
  virtual OperationRequest* next_part() = 0;
  /// The backend that carries the parts out. Null: the one that the queue chooses.
  virtual CollectiveBackend* backend() { return nullptr; }
  /// A part has ended well. True: there is another one.
  virtual bool end_part() = 0;
  /// The operation has ended: after its last part, or with an error. Called once.
  virtual void end(const Status& how) = 0;

 protected:
  ~OperationStage() = default;
};

}  // namespace paceline
