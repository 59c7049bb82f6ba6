// The direct shared-memory backend: all-reduce, reduce-scatter, all-gather, all-to-all, broadcast
// and barrier between the ranks of one host, in a segment that backend/shm/layout.h divides among
// them. What has a root and is no broadcast it leaves to plans: there, who is not the root need not
// wait.
//
// By which method an operation goes says shm/method.h. Short contributions (up to 32 KiB with 2
// ranks, less with more) go in one piece: each rank reads the p - 1 others, one transfer deep; the
// tiniest travel in the cache lines of their flags. Where ranks share CPUs, the last to arrive
// reads all and leaves the result, up to 32 KiB with any number of ranks, so that each of them
// needs a CPU once an operation. That holds for all-reduce and barrier; of the other kinds each
// rank reads what is its own. Contributions are reduced in the order of the ranks, whoever does it,
// and rounded once.
//
// Where ranks have a CPU each and all arrays lie in buffers, less is short (6 KiB with 2 ranks,
// 12 KiB of a broadcast): it is worked on where it lies, as longer ones are.
//
// Longer ones go through chunks in flight. Of each byte of an all-reduce a rank copies (p-1)/p into
// its staging, reads 1/p from everybody, and copies (p-1)/p out; of the other kinds what is for
// others is copied once in and once out. Nothing is staged where the arrays that others touch lie
// in buffers: the inputs, of a broadcast the root's, of an all-reduce the outputs, too. Of an
// all-reduce each rank then makes 1/p of the result and puts it into all outputs; of the other
// kinds each rank reads what is its own, and the root of a long broadcast writes a part of it.
// backend/shm/protocol.h says who may touch what and when.
#pragma once

#include <array>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "collectives/backend/backend.h"
#include "collectives/backend/shm/layout.h"
#include "collectives/backend/shm/memory.h"
#include "collectives/backend/shm/method.h"
#include "collectives/backend/shm/method_report.h"
#include "collectives/backend/shm/protocol.h"
#include "comm/doorbell.h"
#include "comm/transport.h"

namespace paceline {

class ShmBackend final : public CollectiveBackend {
 public:
  struct Options {
    int rank = 0;
    const Clock& clock;  ///< borrowed
    /// How long it looks at flags before the engine takes over the waiting.
    Duration linger = Duration::zero();
    /// Ranks share CPUs, so whoever is waited for may need this one: it yields between looks
    /// instead of lingering, the last to arrive at an exchange meets all others for all, and takes
    /// their contributions if it is short. Who has contributed to one, as all others of its CPU
    /// have, need not yield at once. The same on every rank.
    bool shares_cpus = false;
    /// Doorbell::register_process() has succeeded.
    bool registered = false;
    Arenas arenas{};
    /// Instead of the fastest. The same on every rank.
    std::optional<shm::Method> method{};
    shm::MeasuredSizes measured{};  ///< the same on every rank
    /// Where rank 0 says by which methods operations go; null: nowhere. Owners: all that write to
    /// it.
    std::shared_ptr<Log> log{};
    shm::MethodReport::Says says = shm::MethodReport::Says::kWarnings;
  };

  /// The layout's memory, the bells (by rank) and the transport are borrowed. The transport tells
  /// whether a rank that is waited for is lost.
  ShmBackend(const shm::Layout& layout, std::vector<Ringer> bells, Transport& transport,
             const Options& options);

  std::string_view name() const override { return "shm"; }
  std::optional<std::size_t> most_bytes(OperationKind kind) const override;
  std::size_t small_bytes() const override { return 4 * 1024; }
  Status start(OperationRequest& request) override;
  bool linger(const Clock& clock, TimePoint& now) override;
  bool drive(TimePoint now) override;
  TimePoint wake_at() const override { return look_at_; }
  bool ended() const override { return ended_; }
  const Status& outcome() const override { return outcome_; }
  void finish() override {
    const bool is_well = ended_ && outcome_.ok();
    ended_ = true;
    if (!is_well) {
      give_up();
    } else if (report_ != nullptr) [[unlikely]] {
      report();
    }
    memory_.end();
  }
  std::optional<Disagreement> disagreement() const override { return disagreement_; }
  std::vector<int> awaited() const override;

 private:
  using Choices = std::array<shm::Choice, std::size(kOperationKinds)>;
  static Choices choices_of(const shm::MethodTerms& terms);

  // Apart from what short operations do.
  [[gnu::cold, gnu::noinline]] void report();
  bool look_until_end(const Clock& clock, TimePoint& now);
  bool yield_until_end();
  bool others_need_this_cpu();
  void look_for(Duration time);
  bool advance(int looks);
  void differ();
  void look_after_peer();
  void give_up();

  Transport& transport_;
  const Clock& clock_;
  const Duration linger_;
  const bool shares_cpus_;
  const int rank_;
  const shm::Layout layout_;
  shm::Memory memory_;
  shm::Protocol<shm::Memory> protocol_;

  const std::uint32_t plan_;
  const std::unique_ptr<shm::MethodReport> report_;  // null: nobody asks
  bool ended_ = true;
  Status outcome_;
  std::optional<Disagreement> disagreement_;
  TimePoint look_at_ = TimePoint::max();  // when to see whether who is waited for still lives
  const Choices choices_;                 // by kind
  const shm::Way* way_ = nullptr;         // of the operation
};

}  // namespace paceline
