#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "collectives/c_interface/calls.h"
#include "collectives/c_interface/group.h"
#include "collectives/c_interface/handles.h"
#include "collectives/unique_id.h"

using namespace paceline::c_interface;
using paceline::Communicator;
using paceline::Determinism;
using paceline::InitOptions;
using paceline::Result;
using paceline::Status;
using paceline::UniqueId;

namespace {

static_assert(PL_UNIQUE_ID_BYTES == UniqueId::kBytes && sizeof(plUniqueId) == sizeof(UniqueId));

// Of the first version. A later field is looked at where the size covers it.
constexpr std::size_t kFirstConfigBytes = offsetof(plConfig_t, determinism) + sizeof(int64_t);
constexpr std::size_t kConfigBytesWithName = offsetof(plConfig_t, commName) + sizeof(const char*);
static_assert(kConfigBytesWithName == sizeof(plConfig_t));

Result<InitOptions> options_of(const plConfig_t* config) {
  if (config == nullptr) return InitOptions();
  const bool is_between = config->size > kFirstConfigBytes && config->size < kConfigBytesWithName;
  if (config->size < kFirstConfigBytes || is_between) {
    return invalid("the configuration was not initialized with PL_CONFIG_INITIALIZER");
  }
  if (config->size > sizeof(plConfig_t)) {
    return invalid("the configuration is of a newer version than this library");
  }
  InitOptions options{.timeout_ms = std::chrono::milliseconds(config->timeoutMs)};
  switch (config->determinism) {
    case plDeterminismDefault:
      break;
    case plDeterminismFast:
      options.determinism = Determinism::kFast;
      break;
    case plDeterminismRunStable:
      options.determinism = Determinism::kRunStable;
      break;
    case plDeterminismPlacementStable:
      options.determinism = Determinism::kPlacementStable;
      break;
    default:
      return invalid("determinism is not a value of plDeterminism_t");
  }
  if (config->size >= kConfigBytesWithName && config->commName != nullptr)
    options.name = config->commName;
  return options;
}

Status no_handle() { return invalid("this is not a communicator, or it was destroyed before"); }

plComm_t handle_of(Communicator made) {
  auto handle = std::make_unique<plComm>(std::move(made));
  enter_handle(handle.get());
  return handle.release();
}

template <class Join>
plResult_t init(plComm_t* comm, const plConfig_t* config, const Join& join) noexcept {
  if (comm != nullptr) *comm = nullptr;
  return guarded(nullptr, [&]() -> Status {
    if (comm == nullptr) return invalid("the pointer for the communicator is NULL");
    const auto options = options_of(config);
    if (!options.ok()) return options.status();
    Result<Communicator> joined = join(*options);
    if (!joined.ok()) return joined.status();
    *comm = handle_of(*std::move(joined));
    return {};
  });
}

// The communicator that `part` makes of some ranks of `comm`, if this rank joins it.
template <class Part>
plResult_t make_part(plComm_t comm, plComm_t* newcomm, const plConfig_t* config,
                     const Part& part) noexcept {
  if (newcomm != nullptr) *newcomm = nullptr;
  return on(comm, [&](Communicator& communicator) -> Status {
    if (newcomm == nullptr) return invalid("the pointer for the communicator is NULL");
    const auto options = options_of(config);
    if (!options.ok()) return options.status();
    const std::lock_guard lock(comm->splitting);
    Result<std::optional<Communicator>> made = part(communicator, *options);
    if (!made.ok()) return made.status();
    if (*made) *newcomm = handle_of(**std::move(made));
    return {};
  });
}

template <class T>
plResult_t tell(plComm_t comm, T* into, T (*what)(const Communicator&)) noexcept {
  return on(comm, [&](Communicator& communicator) -> Status {
    if (into == nullptr) return invalid("the pointer for the result is NULL");
    *into = what(communicator);
    return {};
  });
}

}  // namespace

plResult_t plGetVersion(int* version) {
  return guarded(nullptr, [&]() -> Status {
    if (version == nullptr) return invalid("the pointer for the version is NULL");
    *version = PACELINE_VERSION_NUMBER;
    return {};
  });
}

plResult_t plGetUniqueId(plUniqueId* id) {
  return guarded(nullptr, [&]() -> Status {
    if (id == nullptr) return invalid("the pointer for the id is NULL");
    const Result<UniqueId> made = paceline::make_unique_id();
    if (!made.ok()) return made.status();
    std::memcpy(id->internal, made->bytes.data(), UniqueId::kBytes);
    return {};
  });
}

plResult_t plCommInitRank(plComm_t* comm, int nranks, plUniqueId id, int rank) {
  return plCommInitRankConfig(comm, nranks, id, rank, nullptr);
}

plResult_t plCommInitRankConfig(plComm_t* comm, int nranks, plUniqueId id, int rank,
                                const plConfig_t* config) {
  return init(comm, config, [&](const InitOptions& options) {
    UniqueId meeting;
    std::memcpy(meeting.bytes.data(), id.internal, UniqueId::kBytes);
    return Communicator::init(meeting, rank, nranks, options);
  });
}

plResult_t plCommInitFromEnvironment(plComm_t* comm, const plConfig_t* config) {
  return init(comm, config, [](const InitOptions& options) { return Communicator::init(options); });
}

plResult_t plCommInitAll(plComm_t* comms, int nranks, const int* devlist) {
  return guarded(nullptr, [&]() -> Status {
    if (comms == nullptr || nranks < 1)
      return invalid("`comms` must have room for at least one communicator");
    std::fill_n(comms, nranks, nullptr);
    if (devlist != nullptr) return invalid("devlist must be NULL: buffers are host memory");
    const Result<UniqueId> id = paceline::make_unique_id();
    if (!id.ok()) return id.status();
    const auto ranks = static_cast<std::size_t>(nranks);
    std::vector<Result<Communicator>> joined;
    for (std::size_t rank = 0; rank < ranks; ++rank) joined.emplace_back(invalid("not joined"));
    {
      std::vector<std::jthread> threads;
      for (std::size_t rank = 0; rank < ranks; ++rank)
        threads.emplace_back(
            [&, rank] { joined[rank] = Communicator::init(*id, static_cast<int>(rank), nranks); });
    }
    (void)paceline::take_server_of(*id);  // it is left if rank 0 failed before it joined
    for (const Result<Communicator>& one : joined)
      if (!one.ok()) return one.status();
    for (std::size_t rank = 0; rank < ranks; ++rank)
      comms[rank] = handle_of(*std::move(joined[rank]));
    return {};
  });
}

plResult_t plCommSplit(plComm_t comm, int color, int key, plComm_t* newcomm,
                       const plConfig_t* config) {
  return make_part(comm, newcomm, config, [&](Communicator& whole, const InitOptions& options) {
    return whole.split(color, key, options);
  });
}

plResult_t plCommSubset(plComm_t comm, const int* ranks, int nranks, plComm_t* newcomm,
                        const plConfig_t* config) {
  return make_part(
      comm, newcomm, config,
      [&](Communicator& whole, const InitOptions& options) -> Result<std::optional<Communicator>> {
        if (nranks < 0 || (nranks > 0 && ranks == nullptr))
          return invalid("the list of ranks is NULL, or its length is below 0");
        return whole.subset({ranks, static_cast<std::size_t>(nranks)}, options);
      });
}

plResult_t plCommSetTimeout(plComm_t comm, int64_t timeoutMs) {
  return on(comm, [&](Communicator& communicator) {
    return communicator.set_timeout(std::chrono::milliseconds(timeoutMs));
  });
}

plResult_t plCommFinalize(plComm_t comm) {
  return on(comm, [](Communicator& communicator) { return communicator.close(); });
}

plResult_t plCommDestroy(plComm_t comm) {
  return guarded(nullptr, [&]() -> Status {
    if (comm == nullptr) return {};
    const CallGroup* const group = CallGroup::open_one();
    if (group != nullptr && group->has_calls_on(*comm))
      return invalid("the communicator has calls in a group; call plGroupEnd first");
    if (!leave_handle(comm)) return no_handle();
    delete comm;
    return {};
  });
}

plResult_t plCommAbort(plComm_t comm) {
  if (comm != nullptr && !is_handle(comm)) return guarded(nullptr, [] { return no_handle(); });
  const plResult_t aborted = on(comm, [](Communicator& communicator) -> Status {
    communicator.abort();
    return {};
  });
  if (aborted != plSuccess) return aborted;
  if (CallGroup* const group = CallGroup::open_one(); group != nullptr) group->forget(*comm);
  if (!leave_handle(comm)) return guarded(nullptr, [] { return no_handle(); });
  // They end at once: every call on an aborted communicator does.
  while (comm->inside.load() > 0) std::this_thread::yield();
  return guarded(nullptr, [&]() -> Status {
    delete comm;
    return {};
  });
}

plResult_t plCommCount(plComm_t comm, int* count) {
  return tell<int>(comm, count, [](const Communicator& of) { return of.size(); });
}

plResult_t plCommUserRank(plComm_t comm, int* rank) {
  return tell<int>(comm, rank, [](const Communicator& of) { return of.rank(); });
}

plResult_t plCommGetAsyncError(plComm_t comm, plResult_t* error) {
  return tell<plResult_t>(comm, error,
                          [](const Communicator& of) { return code_of(of.failure().code()); });
}
