// Runs one body on N ranks: as a simulation, as threads, or as processes.
//
//   Status status = run_ranks({.mode = Mode::kThreads, .ranks = 3}, [](Communicator& world) {
//     std::vector<float> ones(10, 1.0f);
//     return world.all_reduce(std::span(ones));
//   });
//
// A body returns what it found wrong; in processes it runs in a child, so what it writes to
// captured variables is lost. Threads and processes talk over TCP on loopback or through shared
// memory; simulated ranks over the simulated network, in the order that the seed decides.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <paceline/communicator.h>

#include "comm/base/environment.h"
#include "comm/engine.h"
#include "comm/transport.h"
#include "comm/transport/inproc.h"
#include "tests/harness/fake_device.h"
#include "tests/harness/shared_world.h"

namespace paceline::testing {

enum class Mode {
  kSimulation,
  kThreads,              ///< over TCP
  kSealedThreads,        ///< over TCP, with PACELINE_INTEGRITY
  kProcesses,            ///< over TCP
  kSharedMemory,         ///< processes
  kSharedMemoryThreads,  ///< so that a sanitizer sees both sides
  kDirect,               ///< processes whose operations the direct backend carries out
  kDirectThreads,
  kGathering,  ///< as kDirect, but the last to arrive at an exchange carries it out for all
  kGatheringThreads,
  kComposite,  ///< processes of two hosts: shared memory and TCP
  kCompositeThreads,
};
inline constexpr Mode kModes[] = {Mode::kSimulation,          Mode::kThreads,
                                  Mode::kProcesses,           Mode::kSharedMemory,
                                  Mode::kSharedMemoryThreads, Mode::kCompositeThreads};
std::string name(Mode mode);

struct RunOptions {
  Mode mode = Mode::kSimulation;
  int ranks = 2;
  std::uint64_t seed = 1;         ///< of the simulation
  std::string algorithm;          ///< as PACELINE_ALGORITHM
  SharedWorld::Options shared{};  ///< of the modes of the direct backend
  std::size_t segment_bytes = 4096;
  Determinism determinism = Determinism::kFast;
  /// Deadline of an operation, and roughly of the whole run.
  Duration timeout = std::chrono::seconds(60);
  /// Each rank has so many FakeDevices: devices_of().
  int devices = 0;
  /// The stand-in of NCCL between their devices.
  enum class Library { kNone, kNccl, kNcclWithoutRevoke };
  Library device_library = Library::kNone;
  int rank_without_library = -1;
  std::size_t device_slot_bytes = std::size_t{4} << 20;
  InprocNetwork::Options network;
};

/// What a rank of a transport test is given. The body drives the transport by end.wait().
struct RankEnd {
  Transport& transport;
  Engine& engine;
  /// Set in a simulation only: to lose or cut off ranks.
  InprocNetwork* network = nullptr;

  int rank() const { return transport.group().rank; }
  int size() const { return transport.group().size(); }
  /// Drives until `condition` holds; an error after `timeout`.
  Status wait(FunctionRef<bool()> condition, Duration timeout = std::chrono::seconds(20)) const;
};

/// The first rank's failure, with its rank and, in a simulation, the seed; ok if all were content.
Status run_ranks(const RunOptions& options, const std::function<Status(Communicator&)>& body);
Status run_transports(const RunOptions& options, const std::function<Status(RankEnd&)>& body);

/// The devices of this rank, with RunOptions::devices.
FakeDevices& devices_of(Communicator& world);

/// What a body returns that has seen something wrong.
inline Status wrong(const std::string& what) {
  return Status(Code::kInternal, Scope::kOperation, what);
}

/// `count` seeds, fewer under the address sanitizer; or the one of the environment variable
/// PACELINE_SEED, to replay a failure.
std::vector<std::uint64_t> seeds(int count);

}  // namespace paceline::testing
