// The processes of one host that share memory. Each has a place with its doorbell, and reaches the
// buffers of the others. A process enters once; all groups between members use the same places.
//
// LIFE: a process has taken the place of its number in the segment before it enters. Whether it
// still lives is asked of the kernel (SharedSegment::is_taken_by_another), which cannot be asked
// about the own process: a member that is another thread of it counts as alive.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <paceline/status.h>

#include "comm/arena_view.h"
#include "comm/doorbell.h"
#include "comm/poll_engine.h"
#include "comm/shared_segment.h"

namespace paceline {

/// Part of a segment, zero before the first process uses it.
struct SegmentPart {
  std::shared_ptr<SharedSegment> segment;  // owners: whoever keeps anything in it
  std::size_t offset = 0;                  // a multiple of 64

  /// From the offset to the end.
  std::span<std::byte> memory() const {
    const std::span<std::byte> all = segment->memory();
    return all.subspan(offset < all.size() ? offset : all.size());
  }
};

class HostRoom final : private FdHandler {
 public:
  struct Options {
    int places = 1;
    int own = 0;      ///< the place of this process
    Arenas arenas{};  ///< by place, of all or none
    /// By place: what the member has from make_kick(), to be woken by. With these the members sleep
    /// where descriptors wake them, too; without, at their doorbells alone.
    std::vector<UniqueFd> kicks{};
    /// There are more members than CPUs.
    bool shares_cpus = false;
    /// There are as many CPUs that they may use: members hardly ever sleep
    /// (Doorbell::register_process).
    bool is_wakeful = false;
  };

  static std::size_t bytes_for(int places);
  static Result<UniqueFd> make_kick();

  /// From now on the engine sleeps at this process's doorbell, as long as the room lives.
  /// Code::kInvalidArgument: the part is too small.
  static Result<std::shared_ptr<HostRoom>> enter(std::shared_ptr<PollEngine> engine,
                                                 SegmentPart part, Options options);
  ~HostRoom();
  HostRoom(const HostRoom&) = delete;
  HostRoom& operator=(const HostRoom&) = delete;

  const std::shared_ptr<PollEngine>& engine() const { return engine_; }
  int own() const { return options_.own; }
  /// How many places it has in that segment: its own, or none.
  int places_in(const std::shared_ptr<SharedSegment>& segment) const {
    return segment == part_.segment ? options_.places : 0;
  }
  bool shares_cpus() const { return options_.shares_cpus; }
  bool is_wakeful() const { return options_.is_wakeful; }
  /// Doorbell::register_process() has succeeded.
  bool is_registered() const { return is_registered_; }
  /// By place.
  const Arenas& arenas() const { return options_.arenas; }

  /// For who has written something for the member at `place`.
  Ringer ringer(int place) const;
  /// Has its process been here, and ended? With the baton held.
  bool has_left(int place);

 private:
  // Which process a member is, across pid namespaces; all zero is none.
  struct Identity {
    std::uint64_t pid = 0;
    std::uint64_t pid_namespace = 0;  // inode of /proc/self/ns/pid, zero without /proc

    static Identity own();
    bool operator==(const Identity&) const = default;
  };
  struct Place {
    Doorbell doorbell;
    alignas(64) std::atomic<std::uint64_t> pid_namespace;
    std::atomic<std::uint64_t> pid;  // written last
  };

  HostRoom(std::shared_ptr<PollEngine> engine, SegmentPart part, Options options);
  Status lie_down();
  bool on_ready(std::uint32_t events) override;
  bool has_kicks() const { return !options_.kicks.empty(); }
  int kick_of(int index) const { return options_.kicks[static_cast<std::size_t>(index)].get(); }
  Place& place(int index) const;
  Identity identity(int index) const;

  const std::shared_ptr<PollEngine> engine_;  // owners: see Work
  const SegmentPart part_;
  const Options options_;
  const Identity self_ = Identity::own();
  bool is_registered_ = false;
  std::vector<bool> were_seen_;  // by place: its process has been found to live
};

}  // namespace paceline
