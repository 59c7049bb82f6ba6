// What tries the flag protocol of the direct shared-memory backend: a Memory over the model of
// memory, and ranks that carry out operations, each a script of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collectives/backend/shm/protocol.h"
#include "tests/interleave/model.h"
#include "tests/interleave/search.h"

namespace paceline::testing {

// Where arrays of long operations lie in buffers: nowhere, on all ranks but rank 0, everywhere.
// kOr: where they do not, they are posted.
enum class Buffers : std::uint8_t {
  kNone,
  kNotAll,
  kReached,
  kWithoutFences,
  kNoneOrPosted,
  kNotAllOrPosted
};

// The backend's Memory. A load takes any value that it may.
template <std::uint64_t Calls, std::uint64_t Chunks, std::uint64_t TrueChunks = Chunks,
          std::uint64_t Exchanges = 2, Buffers Of = Buffers::kNone>
struct ModelAccess {
  using Counter = shm::Counter;
  static constexpr std::uint64_t kCalls = Calls;
  static constexpr std::uint64_t kExchanges = Exchanges;
  static constexpr std::uint64_t kChunks = Chunks;
  // The rings' true lengths.
  static constexpr std::uint64_t kCallPlaces = 2;
  static constexpr std::uint64_t kExchangePlaces = 2;
  static constexpr std::uint64_t kPosts = kCallPlaces + kExchangePlaces;
  static constexpr std::uint64_t kChunkPlaces = TrueChunks;
  static constexpr bool kHasBuffers = Of == Buffers::kReached || Of == Buffers::kWithoutFences;
  static constexpr bool kMayPost = Of == Buffers::kNoneOrPosted || Of == Buffers::kNotAllOrPosted;

  ModelMemory& memory;
  int rank;
  int ranks;
  bool releases;
  Choices& choices;
  const shm::Form& form;  // of the operation

  static std::size_t locations(int ranks) { return explained_at(ranks, ranks, 0); }
  static std::size_t regions(int ranks) { return buffer_at(ranks, ranks, 0); }
  static std::size_t flag_at(int of, std::uint64_t operation) {
    return static_cast<std::size_t>(of) * (kCallPlaces + shm::kCounters) + operation % kCallPlaces;
  }
  static std::size_t counter_at(int of, Counter which) {
    return flag_at(of, 0) + kCallPlaces + static_cast<std::size_t>(which);
  }
  static std::size_t post_at(int of, std::uint64_t operation, bool everybody) {
    return static_cast<std::size_t>(of) * (kPosts + 2 * kChunkPlaces) +
           (everybody ? kCallPlaces + operation % kExchangePlaces : operation % kCallPlaces);
  }
  static std::size_t staged_at(int of, std::uint64_t chunk) {
    return post_at(of, 0, false) + kPosts + chunk % kChunkPlaces;
  }
  static std::size_t result_at(int of, std::uint64_t chunk) {
    return staged_at(of, 0) + kChunkPlaces + chunk % kChunkPlaces;
  }

  // Behind those of all ranks.
  static std::size_t arrivals_at(int ranks, std::uint64_t operation) {
    return flag_at(ranks, 0) + operation % kExchangePlaces;
  }
  static std::size_t conclusion_at(int ranks, std::uint64_t operation) {
    return arrivals_at(ranks, operation) + kExchangePlaces;
  }
  static std::size_t explained_at(int ranks, int of, std::uint64_t operation) {
    return conclusion_at(ranks, 0) + kExchangePlaces + static_cast<std::size_t>(of) * kCallPlaces +
           operation % kCallPlaces;
  }
  static std::size_t gathered_at(int ranks, std::uint64_t operation) {
    return post_at(ranks, 0, false) + operation % kExchangePlaces;
  }
  static std::size_t signature_at(int ranks, int of, std::uint64_t operation) {
    return gathered_at(ranks, 0) + kExchangePlaces + static_cast<std::size_t>(of) * kCallPlaces +
           operation % kCallPlaces;
  }
  // One array of each rank, in place, with a part for each.
  static std::size_t buffer_at(int ranks, int of, int part) {
    return signature_at(ranks, ranks, 0) + static_cast<std::size_t>(of * ranks + part);
  }
  static std::uint64_t input_of(std::uint64_t operation) { return 2 * operation + 1; }
  static std::uint64_t result_of(std::uint64_t operation) { return 2 * operation + 2; }

  std::uint64_t load(std::size_t location) const {
    return memory.load_acquire(rank, location, choices.pick_visible(memory, rank, location));
  }
  void store(std::size_t location, std::uint64_t value) const {
    releases ? memory.store_release(rank, location, value)
             : memory.store_relaxed(rank, location, value);
  }

  void publish(std::uint64_t operation, std::uint64_t flag, bool everybody) const {
    memory.write(rank, post_at(rank, operation, everybody), operation + 1);
    if (kHasBuffers) write_buffer(input_of(operation));
    store(flag_at(rank, operation), flag);
  }
  void explain(std::uint64_t operation) const {
    memory.write(rank, signature_at(ranks, rank, operation), operation + 1);
    store(explained_at(ranks, rank, operation), operation + 1);
  }
  bool is_explained(int of, std::uint64_t operation) const {
    return load(explained_at(ranks, of, operation)) == operation + 1;
  }
  void read_signature(int of, std::uint64_t operation) const {
    memory.read(rank, signature_at(ranks, of, operation), operation + 1);
  }
  std::uint64_t flag(int of, std::uint64_t operation) const { return load(flag_at(of, operation)); }
  void take(int root, std::uint64_t operation) const {
    memory.read(rank, post_at(root, operation, false), operation + 1);
  }
  void combine(std::uint64_t operation) const {
    for (int of = 0; of < ranks; ++of) {
      memory.read(rank, post_at(of, operation, true), operation + 1);
    }
  }
  void wake_others() const {}
  void expect_exchange(std::uint64_t) const {}
  bool arrive(std::uint64_t operation) const {
    const std::size_t arrivals = arrivals_at(ranks, operation);
    const std::uint64_t now = memory.last(arrivals) + 1;
    releases ? memory.fetch_add_acq_rel(rank, arrivals, 1)
             : memory.exchange_relaxed(rank, arrivals, now);
    return now % static_cast<std::uint64_t>(ranks) == 0;
  }
  void gather(std::uint64_t operation) const {
    combine(operation);
    memory.write(rank, gathered_at(ranks, operation), operation + 1);
  }
  void conclude(std::uint64_t operation, std::uint64_t flag) const {
    store(conclusion_at(ranks, operation), flag);
  }
  std::uint64_t conclusion(std::uint64_t operation) const {
    return load(conclusion_at(ranks, operation));
  }
  void take_result(std::uint64_t operation) const {
    memory.read(rank, gathered_at(ranks, operation), operation + 1);
  }
  std::uint64_t counter(int of, Counter which) const { return load(counter_at(of, which)); }
  void advance(Counter which, std::uint64_t value) const { store(counter_at(rank, which), value); }
  void set(Counter which, std::uint64_t value) const { advance(which, value); }
  void fence() const {
    if (Of != Buffers::kWithoutFences) memory.fence_seq_cst(rank);
  }

  bool needs_chunks() const {
    return Of == Buffers::kNone || (Of == Buffers::kNotAll && rank == 0);
  }
  bool is_posted_by(int of) const {
    return Of == Buffers::kNoneOrPosted || (Of == Buffers::kNotAllOrPosted && of == 0);
  }
  // What is posted, and that it is, is read from where it was contributed.
  bool take_posts(std::uint64_t operation) const {
    if (!kMayPost) return false;
    const bool has_root = form.flow == shm::Flow::kFromRoot;
    for (int of = 0; of < ranks; ++of)
      if ((!has_root || of == form.root) && !is_posted_by(of)) return false;
    for (int of = 0; of < ranks; ++of)
      if (!has_root || of == form.root)
        memory.read(rank, post_at(of, operation, true), operation + 1);
    return true;
  }
  // What is offered is read from where it was contributed.
  std::optional<std::uint64_t> begin_direct(std::uint64_t operation, const shm::Form&) const {
    if (!kHasBuffers) return {};
    form.everybody ? combine(operation) : take(form.root, operation);
    return form.everybody || form.root != rank ? 1 : 0;
  }
  void make_piece(std::uint64_t) const {
    const std::uint64_t operation = memory.last(counter_at(rank, Counter::kTouching)) - 1;
    if (form.flow == shm::Flow::kFromRoot && !form.for_all) return send_or_fetch(operation);
    make_part(operation, rank);
  }
  void make_part(std::uint64_t operation, int part) const {
    for (int of = 0; of < ranks; ++of)
      if (is_read(of, part)) memory.read(rank, buffer_at(ranks, of, part), input_of(operation));
    for (int of = 0; of < ranks && form.for_all; ++of)
      if (is_written(of)) memory.write(rank, buffer_at(ranks, of, part), result_of(operation));
  }
  // Of what is gathered from all, each part is somebody's.
  bool is_read(int of, int part) const {
    if (form.flow == shm::Flow::kFromRoot) return of == form.root;
    return form.flow == shm::Flow::kShared || !form.for_all || of == part;
  }
  // Has an array a result, all of it, from whoever makes it?
  bool is_written(int of) const {
    return form.flow == shm::Flow::kFromRoot ? of != form.root : form.for_all;
  }
  // What is the root's part it writes itself, where all have come.
  void send_or_fetch(std::uint64_t operation) const {
    for (int part = 0; part < ranks; ++part) {
      const bool is_sent = form.everybody && part == form.root;
      if (rank != form.root && !is_sent) {
        memory.read(rank, buffer_at(ranks, form.root, part), input_of(operation));
        memory.write(rank, buffer_at(ranks, rank, part), result_of(operation));
      }
    }
    for (int of = 0; of < ranks && rank == form.root; ++of)
      if (of != rank) memory.write(rank, buffer_at(ranks, of, rank), result_of(operation));
  }
  // What the program does with its own memory, before and after.
  void write_buffer(std::uint64_t value) const {
    for (int part = 0; part < ranks; ++part)
      memory.write(rank, buffer_at(ranks, rank, part), value);
  }
  void read_buffer(std::uint64_t expected) const {
    for (int part = 0; part < ranks; ++part)
      memory.read(rank, buffer_at(ranks, rank, part), expected);
  }

  void stage(std::uint64_t chunk) const { memory.write(rank, staged_at(rank, chunk), chunk + 1); }
  void reduce(std::uint64_t chunk) const {
    for (int of = 0; of < ranks; ++of)
      if (of != rank) memory.read(rank, staged_at(of, chunk), chunk + 1);
    memory.write(rank, result_at(rank, chunk), chunk + 1);
  }
  void drain(std::uint64_t chunk) const {
    for (int of = 0; of < ranks; ++of)
      if (of != rank) memory.read(rank, result_at(of, chunk), chunk + 1);
  }
  void drain_staged(int root, std::uint64_t chunk) const {
    memory.read(rank, staged_at(root, chunk), chunk + 1);
  }
  void take_staged(std::uint64_t chunk) const {
    for (int of = 0; of < ranks; ++of)
      if (of != rank) memory.read(rank, staged_at(of, chunk), chunk + 1);
  }
};

template <class Access>
class State {
 public:
  // One script for each rank. Who waits explains itself only where they differ: there would be
  // many more states, and nobody would look. `give_up`: any rank may, in the middle of an
  // operation.
  State(std::vector<std::vector<shm::Form>> scripts, bool releases, bool give_up = false)
      : scripts_(std::move(scripts)),
        releases_(releases),
        may_give_up_(give_up),
        differs_(scripts_.front() != scripts_.back()),
        memory_(threads(), Access::locations(threads()), Access::regions(threads())),
        running_(scripts_.size(), false),
        next_(scripts_.size(), 0) {
    for (int rank = 0; rank < threads(); ++rank) ranks_.emplace_back(rank, threads());
  }

  int threads() const { return static_cast<int>(scripts_.size()); }
  // Who waits for one that contributes nothing, and has found a disagreement, is left waiting.
  bool ended() const {
    if (silent_differed_) return true;
    // The others wait for who has given up, but its memory comes back.
    if (given_up_ != GivenUp::kNo) return given_up_ == GivenUp::kGotBack;
    for (std::size_t rank = 0; rank < scripts_.size(); ++rank) {
      if (running_[rank] || next_[rank] < scripts_[rank].size()) return false;
    }
    return true;
  }
  bool step(int thread, Choices& choices) {
    const auto rank = static_cast<std::size_t>(thread);
    if (!running_[rank]) {
      if (next_[rank] == scripts_[rank].size()) return false;
      ranks_[rank].start(scripts_[rank][next_[rank]++]);
      running_[rank] = true;
      return true;
    }
    const shm::Form& form = scripts_[rank][next_[rank] - 1];
    Access access{memory_, thread, threads(), releases_, choices, form};
    if (may_give_up_ && thread == 0 && (given_up_ != GivenUp::kNo || choices.pick(2) == 1))
      return give_up(access);
    const shm::Progress progress = ranks_[rank].step(access);
    if (progress == shm::Progress::kDiffers) {
      ranks_[rank].explain(access);
      access.read_signature(ranks_[rank].awaited(), ranks_[rank].operation());
      next_[rank] = scripts_[rank].size();  // begins nothing more
      silent_differed_ |= !ranks_[rank].contributes();
    }
    const bool is_direct = Access::kHasBuffers && form.chunks > 0;
    if (progress == shm::Progress::kEnded && is_direct && access.is_written(thread))
      access.read_buffer(Access::result_of(ranks_[rank].operation() - 1));
    running_[rank] = progress != shm::Progress::kEnded && progress != shm::Progress::kDiffers;
    return progress != shm::Progress::kWaits || (differs_ && explains(thread, access, choices));
  }
  std::string key() const {
    std::string key;
    memory_.append_key(key);
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      for (const std::uint64_t number : ranks_[rank].state())
        key.append(reinterpret_cast<const char*>(&number), sizeof number);
      key += static_cast<char>(next_[rank]);
      key += running_[rank] ? 'r' : 'i';
    }
    key += static_cast<char>(given_up_);
    return key;
  }

 private:
  enum class GivenUp : std::uint8_t { kNo, kRevoked, kGotBack };

  // As ShmBackend does; then the program writes into its memory again.
  bool give_up(Access& access) {
    if (given_up_ == GivenUp::kGotBack) return false;
    if (given_up_ == GivenUp::kNo) {
      shm::revoke(access);
      given_up_ = GivenUp::kRevoked;
      return true;
    }
    if (shm::is_touched(access, 0, threads())) return false;
    access.write_buffer(0);
    given_up_ = GivenUp::kGotBack;
    return true;
  }

  // Who waits may explain itself now or later.
  bool explains(int thread, Access& access, Choices& choices) {
    shm::Protocol<Access>& own = ranks_[static_cast<std::size_t>(thread)];
    const std::vector<std::uint64_t> before = own.state();
    if (choices.pick(2) == 1) own.explain(access);
    return own.state() != before;
  }

  std::vector<std::vector<shm::Form>> scripts_;
  bool releases_;
  bool may_give_up_;
  bool differs_;
  ModelMemory memory_;
  std::vector<shm::Protocol<Access>> ranks_;
  std::vector<bool> running_;
  std::vector<std::size_t> next_;
  GivenUp given_up_ = GivenUp::kNo;
  bool silent_differed_ = false;
};

}  // namespace paceline::testing
