// Paceline's own operations, as they are measured.
#pragma once

#include <paceline/communicator.h>

#include "launcher/probe/subject.h"

namespace paceline::probe {

class Library final : public Subject {
 public:
  /// The communicator is borrowed.
  explicit Library(Communicator& communicator) : communicator_(communicator) {}

  int rank() const override { return communicator_.rank(); }
  int size() const override { return communicator_.size(); }
  Status call(const Call& call) override;

 private:
  Communicator& communicator_;
};

}  // namespace paceline::probe
