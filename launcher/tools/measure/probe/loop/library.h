// Paceline's own operations, as they are measured.
#pragma once

#include <vector>

#include <paceline/buffer.h>
#include <paceline/communicator.h>

#include "launcher/tools/measure/probe/loop/subject.h"

namespace paceline::probe {

class Library final : public Subject {
 public:
  /// The communicator is borrowed. `registered`: memory is of buffers, which other ranks reach.
  Library(Communicator& communicator, bool registered)
      : communicator_(communicator), registered_(registered) {}

  int rank() const override { return communicator_.rank(); }
  int size() const override { return communicator_.size(); }
  Result<std::byte*> allocate(std::size_t bytes) override;
  Status call(const Call& call) override;

 private:
  Communicator& communicator_;
  const bool registered_;
  std::vector<Buffer> buffers_;
};

}  // namespace paceline::probe
