// The parts of a communicator.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include <paceline/group.h>
#include <paceline/types.h>

#include "collectives/backend/backend.h"
#include "collectives/failure/whereabouts.h"
#include "collectives/membership.h"
#include "comm/device/device.h"
#include "comm/engine.h"
#include "comm/transport.h"
#include "telemetry/flight_ring.h"
#include "telemetry/log.h"
#include "telemetry/step_ledger.h"

namespace paceline {

struct CommunicatorParts {
  std::shared_ptr<Engine> engine;        // owners: see Work
  std::unique_ptr<Transport> transport;  // null in a group of one
  /// The first that serves a kind runs it up to its most_bytes(). Beyond, the last one does.
  std::vector<std::unique_ptr<CollectiveBackend>> backends;
  Devices* devices = nullptr;                            // for tests; null: those of this process
  std::size_t device_slot_bytes = std::size_t{4} << 20;  // see StagedLane
  bool uses_device_library = true;                       // see DeviceGroupSetup
  std::unique_ptr<FlightRing> flight;
  StepLedger* ledger = nullptr;              // null: exposed communication is not counted
  std::unique_ptr<Whereabouts> whereabouts;  // may be null
  std::shared_ptr<Log> log;                  // may be null; owners: all that write to it
  Group group;
  Duration timeout = std::chrono::seconds(300);      // of each operation, until set_timeout()
  Duration report_every = std::chrono::seconds(30);  // for an operation without progress
  Determinism determinism = Determinism::kFast;      // of results that the backends compute
  Membership membership;
};

}  // namespace paceline
