// The flag protocol of the direct shared-memory backend, in every order of 2 and 3 ranks' steps and
// with every value that the memory model lets them load. The rings are shorter than the backend's,
// so that a few operations go round them.
#include "collectives/backend/shm/protocol.h"

#include <iostream>

#include <gtest/gtest.h>

#include "tests/interleave/model.h"
#include "tests/interleave/search.h"

namespace paceline::testing {
namespace {

using shm::Counter;
using shm::Form;
using shm::Progress;

// The backend's Memory. A load takes any value that it may.
template <std::uint64_t Calls, std::uint64_t Chunks, std::uint64_t TrueChunks = Chunks,
          std::uint64_t Exchanges = 2>
struct ModelAccess {
  static constexpr std::uint64_t kCalls = Calls;
  static constexpr std::uint64_t kExchanges = Exchanges;
  static constexpr std::uint64_t kChunks = Chunks;
  // The rings' true lengths.
  static constexpr std::uint64_t kCallPlaces = 2;
  static constexpr std::uint64_t kExchangePlaces = 2;
  static constexpr std::uint64_t kPosts = kCallPlaces + kExchangePlaces;
  static constexpr std::uint64_t kChunkPlaces = TrueChunks;

  ModelMemory& memory;
  int rank;
  int ranks;
  bool releases;
  Choices& choices;

  static std::size_t locations(int ranks) { return explained_at(ranks, ranks, 0); }
  static std::size_t regions(int ranks) { return signature_at(ranks, ranks, 0); }
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

  std::uint64_t load(std::size_t location) const {
    return memory.load_acquire(rank, location, choices.pick_visible(memory, rank, location));
  }
  void store(std::size_t location, std::uint64_t value) const {
    releases ? memory.store_release(rank, location, value)
             : memory.store_relaxed(rank, location, value);
  }

  void publish(std::uint64_t operation, std::uint64_t flag, bool everybody) const {
    memory.write(rank, post_at(rank, operation, everybody), operation + 1);
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
};

template <class Access>
class State {
 public:
  // One script for each rank. Who waits explains itself only where they differ: there would be
  // many more states, and nobody would look.
  State(std::vector<std::vector<Form>> scripts, bool releases)
      : scripts_(std::move(scripts)),
        releases_(releases),
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
    Access access{memory_, thread, threads(), releases_, choices};
    const Progress progress = ranks_[rank].step(access);
    if (progress == Progress::kDiffers) {
      ranks_[rank].explain(access);
      access.read_signature(ranks_[rank].awaited(), ranks_[rank].operation());
      next_[rank] = scripts_[rank].size();  // begins nothing more
      silent_differed_ |= !ranks_[rank].contributes();
    }
    running_[rank] = progress != Progress::kEnded && progress != Progress::kDiffers;
    return progress != Progress::kWaits || (differs_ && explains(thread, access, choices));
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
    return key;
  }

 private:
  // Who waits may explain itself now or later.
  bool explains(int thread, Access& access, Choices& choices) {
    shm::Protocol<Access>& own = ranks_[static_cast<std::size_t>(thread)];
    const std::vector<std::uint64_t> before = own.state();
    if (choices.pick(2) == 1) own.explain(access);
    return own.state() != before;
  }

  std::vector<std::vector<Form>> scripts_;
  bool releases_;
  bool differs_;
  ModelMemory memory_;
  std::vector<shm::Protocol<Access>> ranks_;
  std::vector<bool> running_;
  std::vector<std::size_t> next_;
  bool silent_differed_ = false;
};

constexpr std::size_t kMostStates = 500'000;

Form exchange() { return {}; }
Form gathering() { return {.gathered = true}; }
Form broadcast(int root, std::uint64_t chunks = 0) {
  return {.everybody = false, .root = root, .chunks = chunks};
}
Form all_reduce(std::uint64_t chunks) { return {.chunks = chunks}; }

using Short = ModelAccess<2, 1>;
using Long = ModelAccess<2, 2>;

template <class Access>
SearchResult try_all(int ranks, const std::vector<Form>& script, bool releases = true) {
  const State<Access> first(std::vector(static_cast<std::size_t>(ranks), script), releases);
  SearchResult result = search(first, kMostStates);
  std::cout << ranks << " ranks, " << script.size() << " operations: " << result.states
            << " states\n";
  return result;
}

template <class Access = Short>
void expect_right(int ranks, const std::vector<Form>& script) {
  const SearchResult result = try_all<Access>(ranks, script);
  EXPECT_EQ(result.fault, "");
  EXPECT_TRUE(result.complete);
}

TEST(FlagProtocol, ShortOperationsOfTwo) {
  expect_right(2, {exchange(), exchange(), exchange(), exchange()});
  expect_right(2, {broadcast(0), broadcast(0), broadcast(0), broadcast(1), exchange()});
  expect_right(2, {broadcast(1), exchange(), broadcast(1), broadcast(1), broadcast(0)});
  expect_right(2, {exchange(), broadcast(0), exchange(), broadcast(0), exchange()});
}

TEST(FlagProtocol, ShortOperationsOfThree) {
  expect_right(3, {exchange(), exchange(), exchange()});
  expect_right(3, {broadcast(0), broadcast(1), broadcast(0), exchange()});
}

TEST(FlagProtocol, GatheredOperationsOfTwo) {
  expect_right(2, {gathering(), gathering(), gathering(), gathering()});
  expect_right(2, {gathering(), broadcast(0), broadcast(1), gathering(), gathering()});
  expect_right(2, {gathering(), all_reduce(1), gathering(), gathering()});
}

TEST(FlagProtocol, GatheredOperationsOfThree) {
  expect_right(3, {gathering(), gathering()});
  expect_right(3, {broadcast(1), gathering()});
}

TEST(FlagProtocol, LongOperationsOfTwo) {
  expect_right(2, {all_reduce(2)});
  expect_right(2, {all_reduce(1), broadcast(0, 1), all_reduce(1)});
  expect_right(2, {broadcast(0, 3), broadcast(1, 2)});
  expect_right<Long>(2, {broadcast(0, 4), broadcast(1, 3)});
  expect_right<Long>(2, {all_reduce(2)});
}

TEST(FlagProtocol, LongOperationsOfThree) {
  expect_right(3, {broadcast(0, 3)});
  expect_right(3, {all_reduce(1)});
}

// Whatever the order, all that look at others find out, and nobody takes what is not meant for it.
TEST(FlagProtocol, WhoCalledSomethingElseIsFoundOut) {
  const auto expect_found_out = [](const Form& first, const Form& one, const Form& other) {
    const State<Short> start({{first, one}, {first, other}}, true);
    const SearchResult result = search(start, kMostStates);
    EXPECT_EQ(result.fault, "");
    EXPECT_TRUE(result.complete);
  };
  for (const Form& other : {Form{.digest = 1}, Form{.chunks = 2, .digest = 1}})
    expect_found_out(exchange(), exchange(), other);
  for (const Form& other :
       {Form{.digest = 1, .gathered = true}, Form{.chunks = 2, .digest = 1},
        Form{.everybody = false, .root = 1, .digest = 1}, Form{.everybody = false, .digest = 1}})
    expect_found_out(gathering(), gathering(), other);
}

// The search finds what is wrong on purpose.
TEST(FlagProtocol, WithoutReleaseOrWithTooLongRingsItFails) {
  EXPECT_NE(try_all<Short>(2, {exchange()}, false).fault, "");
  EXPECT_NE(try_all<Short>(2, {gathering()}, false).fault, "");
  EXPECT_NE(try_all<Short>(2, {all_reduce(1)}, false).fault, "");
  const auto late_calls =
      try_all<ModelAccess<3, 1>>(2, {broadcast(0), broadcast(0), broadcast(0), broadcast(0)});
  EXPECT_NE(late_calls.fault, "");
  const auto late_exchanges =
      try_all<ModelAccess<2, 1, 1, 3>>(2, {exchange(), broadcast(0), exchange()});
  EXPECT_NE(late_exchanges.fault, "");
  EXPECT_NE((try_all<ModelAccess<2, 3, 2>>(2, {broadcast(0, 4)}).fault), "");
  EXPECT_NE((try_all<ModelAccess<2, 3, 2>>(2, {all_reduce(4)}).fault), "");
}

}  // namespace
}  // namespace paceline::testing
