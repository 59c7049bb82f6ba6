// Paceline's own operations, as they are measured.
#pragma once

#include <vector>

#include <paceline/buffer.h>
#include <paceline/communicator.h>

#include "launcher/tools/measure/probe/loop/gpu.h"
#include "launcher/tools/measure/probe/loop/subject.h"

namespace paceline::probe {

class Library final : public Subject {
 public:
  /// Everything is borrowed. `registered`: memory is of buffers, which other ranks reach. `gpu`:
  /// memory is the GPU's; null: it is the host's.
  Library(Communicator& communicator, bool registered, Gpu* gpu)
      : communicator_(communicator), registered_(registered), gpu_(gpu) {}

  int rank() const override { return communicator_.rank(); }
  int size() const override { return communicator_.size(); }
  Result<std::byte*> allocate(std::size_t bytes) override;
  bool is_addressable() const override { return gpu_ == nullptr; }
  Status write(void* to, const void* from, std::size_t bytes) override;
  Status read(void* to, const void* from, std::size_t bytes) override;
  Status call(const Call& call) override;

 private:
  Communicator& communicator_;
  const bool registered_;
  Gpu* const gpu_;
  std::vector<Buffer> buffers_;
};

}  // namespace paceline::probe
