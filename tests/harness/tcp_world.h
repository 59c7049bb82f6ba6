// A world of ranks over TCP on loopback without a launcher, and the communicator of one rank.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <paceline/communicator.h>

#include "comm/device/device.h"
#include "comm/engine.h"
#include "comm/job_key.h"
#include "comm/transport.h"
#include "comm/transport/tcp.h"
#include "tests/harness/world.h"

namespace paceline::testing {

class TcpWorld final : public World {
 public:
  explicit TcpWorld(int ranks, const TcpPort::Options& options = {});

  int size() const override { return group_.size(); }
  std::unique_ptr<Transport> enter(int rank, std::shared_ptr<PollEngine> engine) override;
  void close_other_doors() override;

 private:
  std::vector<std::optional<TcpListener>> listeners_;  // indexed by rank
  Group group_;                                        // of no rank yet
  JobKey key_;
  const TcpPort::Options options_;
};

struct CommunicatorOptions {
  std::string algorithm;  ///< as PACELINE_ALGORITHM
  std::size_t segment_bytes = 4096;
  Determinism determinism = Determinism::kFast;
  Duration timeout = std::chrono::seconds(60);
  std::vector<int> hosts{};    ///< by rank, as in NativeBackend::Options
  Devices* devices = nullptr;  ///< as in CommunicatorParts
  std::size_t device_slot_bytes = std::size_t{4} << 20;
};

/// With a flight ring of its own; the native backend carries out what `direct` does not serve.
Communicator communicator_over(std::shared_ptr<Engine> engine, std::unique_ptr<Transport> transport,
                               const CommunicatorOptions& options,
                               std::unique_ptr<CollectiveBackend> direct = nullptr);

}  // namespace paceline::testing
