// The direct shared-memory backend of a rank that is struck: the protocol of all ranks
// (collectives/backend/shm/protocol.h) over a memory that counts what the protocol asks of it. The
// other ranks have the library's own.
//
// What stands around the protocol is ShmBackend's, without its hurry.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <sched.h>

#include "collectives/backend/backend.h"
#include "collectives/backend/shm/layout.h"
#include "collectives/backend/shm/memory.h"
#include "collectives/backend/shm/method.h"
#include "collectives/backend/shm/protocol.h"
#include "comm/base/assert.h"
#include "comm/base/clock.h"
#include "comm/transport.h"
#include "tests/acceptance/zero_copy/strikes.h"

namespace paceline::testing {

/// shm::Memory, each step of which begins and ends with a chance to be struck. All is borrowed.
class StrikingMemory {
 public:
  using Counter = shm::Counter;
  static constexpr std::uint64_t kCalls = shm::kCalls;
  static constexpr std::uint64_t kExchanges = shm::kExchanges;
  static constexpr std::uint64_t kChunks = shm::kChunks;

  StrikingMemory(shm::Memory& memory, Striker& striker, TouchTrap& trap)
      : memory_(memory), striker_(striker), trap_(trap) {}

  void publish(std::uint64_t operation, std::uint64_t flag, bool everybody) {
    const Passage passage(striker_, Step::kPublish);
    memory_.publish(operation, flag, everybody);
  }
  void explain(std::uint64_t operation) {
    const Passage passage(striker_, Step::kExplain);
    memory_.explain(operation);
  }
  bool is_explained(int rank, std::uint64_t operation) const {
    return memory_.is_explained(rank, operation);
  }
  void wake_others() {
    const Passage passage(striker_, Step::kWake);
    memory_.wake_others();
  }
  std::uint64_t flag(int rank, std::uint64_t operation) const {
    const Passage passage(striker_, Step::kFlag);
    return memory_.flag(rank, operation);
  }
  void take(int root, std::uint64_t operation) {
    const Passage passage(striker_, Step::kTake);
    memory_.take(root, operation);
  }
  void combine(std::uint64_t operation) {
    const Passage passage(striker_, Step::kCombine);
    memory_.combine(operation);
  }
  void expect_exchange(std::uint64_t operation) {
    const Passage passage(striker_, Step::kExpect);
    memory_.expect_exchange(operation);
  }
  bool arrive(std::uint64_t operation) {
    const Passage passage(striker_, Step::kArrive);
    return memory_.arrive(operation);
  }
  void gather(std::uint64_t operation) {
    const Passage passage(striker_, Step::kGather);
    memory_.gather(operation);
  }
  void conclude(std::uint64_t operation, std::uint64_t flag) {
    const Passage passage(striker_, Step::kConclude);
    memory_.conclude(operation, flag);
  }
  std::uint64_t conclusion(std::uint64_t operation) const {
    const Passage passage(striker_, Step::kConclusion);
    return memory_.conclusion(operation);
  }
  void take_result(std::uint64_t operation) {
    const Passage passage(striker_, Step::kTakeResult);
    memory_.take_result(operation);
  }
  std::uint64_t counter(int rank, Counter which) const {
    const Passage passage(striker_, Step::kCounter);
    return memory_.counter(rank, which);
  }
  // Its waking of the others is a step of its own.
  void advance(Counter which, std::uint64_t value) {
    set(which, value);
    wake_others();
  }
  void set(Counter which, std::uint64_t value) {
    const Passage passage(striker_, step_of(which, value));
    memory_.set(which, value);
  }
  void fence() {
    const Passage passage(striker_, Step::kFence);
    shm::Memory::fence();
  }
  bool needs_chunks() const { return memory_.needs_chunks(); }
  bool take_posts(std::uint64_t operation) {
    const Passage passage(striker_, Step::kTakePosts);
    return memory_.take_posts(operation);
  }
  std::optional<std::uint64_t> begin_direct(std::uint64_t operation, const shm::Form& form) {
    const Passage passage(striker_, Step::kBeginDirect);
    return memory_.begin_direct(operation, form);
  }
  void make_piece(std::uint64_t piece) {
    const Passage passage(striker_, Step::kMakePiece);
    trap_.set();
    memory_.make_piece(piece);
    trap_.lift();
  }
  void stage(std::uint64_t chunk) {
    const Passage passage(striker_, Step::kStage);
    memory_.stage(chunk);
  }
  void reduce(std::uint64_t chunk) {
    const Passage passage(striker_, Step::kReduce);
    memory_.reduce(chunk);
  }
  void drain(std::uint64_t chunk) {
    const Passage passage(striker_, Step::kDrain);
    memory_.drain(chunk);
  }
  void drain_staged(int root, std::uint64_t chunk) {
    const Passage passage(striker_, Step::kDrainStaged);
    memory_.drain_staged(root, chunk);
  }
  void take_staged(std::uint64_t chunk) {
    const Passage passage(striker_, Step::kTakeStaged);
    memory_.take_staged(chunk);
  }

 private:
  class Passage {
   public:
    Passage(Striker& striker, Step step) : striker_(striker), step_(step) {
      striker_.come_to(step_);
    }
    ~Passage() { striker_.leave(step_); }
    Passage(const Passage&) = delete;
    Passage& operator=(const Passage&) = delete;

   private:
    Striker& striker_;
    const Step step_;
  };

  // Who gives up has been struck already.
  static Step step_of(Counter which, std::uint64_t value) {
    switch (which) {
      case Counter::kDone:
        return Step::kDone;
      case Counter::kFilled:
        return Step::kFilled;
      case Counter::kReduced:
        return Step::kReduced;
      case Counter::kDrained:
        return Step::kDrained;
      default:
        return value != 0 ? Step::kTouching : Step::kUntouching;
    }
  }

  shm::Memory& memory_;
  Striker& striker_;
  TouchTrap& trap_;
};

class StruckBackend final : public CollectiveBackend {
 public:
  struct Options {
    int rank = 0;
    const Clock& clock;  // borrowed
    bool shares_cpus = false;
    Arenas arenas{};
  };
  /// The layout's memory, the bells, the transport, the striker and the trap are borrowed.
  StruckBackend(const shm::Layout& layout, std::vector<Ringer> bells, Transport& transport,
                const Options& options, Striker& striker, TouchTrap& trap)
      : transport_(transport),
        options_(options),
        layout_(layout),
        memory_(layout, options.rank, std::move(bells), false, options.arenas),
        striking_(memory_, striker, trap),
        protocol_(options.rank, layout.ranks()) {}

  std::string_view name() const override { return "struck"; }
  std::optional<std::size_t> most_bytes(OperationKind kind) const override {
    const bool is_served = shm::flow_of(kind) != shm::Flow::kToEach ||
                           kind == OperationKind::kReduceScatter ||
                           kind == OperationKind::kAllGather || kind == OperationKind::kAllToAll;
    return is_served ? std::optional(SIZE_MAX) : std::nullopt;
  }
  std::size_t small_bytes() const override { return 4 * 1024; }
  Status start(OperationRequest& request) override {
    const Signature& signature = request.signature;
    // Without a word of chunks, so that nothing goes through them that could go directly.
    const shm::MethodTerms terms{.ranks = layout_.ranks(),
                                 .shares_cpus = options_.shares_cpus,
                                 .has_buffers = true,
                                 .post_bytes = layout_.post_bytes()};
    request.set_plan(static_cast<std::uint32_t>(layout_.chunk_bytes()) |
                     (options_.shares_cpus ? 1 : 0));
    const shm::Choice choice = shm::choose(signature.kind, terms);
    const shm::Way& way = choice.way(shm::Memory::contribution_bytes(signature, layout_.ranks()));
    const std::uint64_t chunks =
        memory_.begin(request, way, choice.for_all, protocol_.first_chunk());
    const auto digest = static_cast<std::uint32_t>(request.next_history >> 32);
    protocol_.start(
        shm::form_of(choice, way, signature.root, chunks, digest, options_.shares_cpus));
    ended_ = false;
    if (protocol_.contributes()) protocol_.contribute(striking_);
    return {};
  }
  bool linger(const Clock& /*clock*/, TimePoint& /*now*/) override { return false; }
  bool drive(TimePoint /*now*/) override {
    if (ended_) return false;
    protocol_.explain(striking_);
    return advance() || look_after_peer();
  }
  bool ended() const override { return ended_; }
  const Status& outcome() const override { return outcome_; }
  void finish() override {
    const bool is_well = std::exchange(ended_, true) && outcome_.ok();
    if (!is_well) give_up();
    memory_.end();
  }
  std::optional<Disagreement> disagreement() const override { return {}; }
  std::vector<int> awaited() const override {
    return ended_ ? std::vector<int>() : protocol_.holding_up(striking_);
  }

 private:
  bool advance() {
    bool moved = false;
    shm::Progress progress = protocol_.step(striking_);
    for (; progress == shm::Progress::kMoved; progress = protocol_.step(striking_)) moved = true;
    if (progress == shm::Progress::kWaits) return moved;
    PACELINE_ASSERT(progress == shm::Progress::kEnded);  // all call the same
    return ended_ = true;
  }
  // What a lost rank wrote before is still there.
  bool look_after_peer() {
    for (const int rank : awaited()) {
      const Status loss = transport_.loss(rank);
      if (loss.ok()) continue;
      if (advance()) return true;
      outcome_ = loss;
      return ended_ = true;
    }
    return false;
  }
  void give_up() {
    shm::revoke(memory_);
    const Deadline deadline = Deadline::after(options_.clock, std::chrono::milliseconds(20));
    for (int yielded = 0; yielded < 20 || !deadline.passed(options_.clock.now()); ++yielded) {
      if (!shm::is_touched(memory_, options_.rank, layout_.ranks())) return;
      ::sched_yield();
    }
    PACELINE_ASSERT(memory_.leave_buffers().ok());
  }

  Transport& transport_;
  const Options options_;
  const shm::Layout layout_;
  shm::Memory memory_;
  StrikingMemory striking_;
  shm::Protocol<StrikingMemory> protocol_;
  bool ended_ = true;
  Status outcome_;
};

}  // namespace paceline::testing
