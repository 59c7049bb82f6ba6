// Work around an operation on memory that is prepared for it: a copy from the device's memory
// before it begins, and a copy back after it has ended.
#pragma once

#include <paceline/status.h>

namespace paceline {

/// Everything with the engine's baton held.
class OperationStage {
 public:
  /// May the operation begin? The operations after it wait, too. Asked again and again.
  virtual bool is_ready() const = 0;
  /// The operation has ended, also if it has not begun. Called once.
  virtual void end(const Status& how) = 0;

 protected:
  ~OperationStage() = default;
};

}  // namespace paceline
