// A model of shared memory in which everything may happen that the C++ memory model allows for
// release stores, acquire loads and sequentially consistent fences on locations with one writer.
//
// A location keeps every value that was stored; a load may return any that its thread has not yet
// seen to be overwritten. A release store carries what its thread knew, an acquire load takes that
// over (the views of Kang et al., A Promising Semantics for Relaxed-Memory Concurrency, POPL 2017,
// without promises: what is tried here stores no value that depends on a later load). Plain data
// are not versioned: every access to them must be ordered by happens-before, else it is a race.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace paceline::testing {

/// Thrown inside the model: what went wrong. The search shows the steps that led there.
struct ModelFault {
  std::string what;
};

class ModelMemory {
 public:
  ModelMemory(int threads, std::size_t locations, std::size_t regions);

  // ---- Atomic locations ----
  /// The values that a load of this thread may return, as places in the location's history.
  std::size_t first_visible(int thread, std::size_t location) const;
  std::size_t history_length(std::size_t location) const { return histories_[location].size(); }
  std::uint64_t load_acquire(int thread, std::size_t location, std::size_t place);
  std::uint64_t load_relaxed(int thread, std::size_t location, std::size_t place);
  void store_release(int thread, std::size_t location, std::uint64_t value);
  /// As a relaxed store would: it carries nothing.
  void store_relaxed(int thread, std::size_t location, std::uint64_t value);
  /// Reads the last value, as every read-modify-write does.
  std::uint64_t exchange_relaxed(int thread, std::size_t location, std::uint64_t value);
  std::uint64_t fetch_add_acq_rel(int thread, std::size_t location, std::uint64_t value);
  std::uint64_t last(std::size_t location) const { return histories_[location].back().value; }
  void fence_seq_cst(int thread);
  /// membarrier(2): every thread passes a fence while this one waits for it.
  void fence_everywhere(int thread);

  // ---- Plain data ----
  void write(int thread, std::size_t region, std::uint64_t value);
  /// The value must be `expected`, or somebody has written too early or too late.
  void read(int thread, std::size_t region, std::uint64_t expected);

  /// Equal for states in which the same can happen.
  void append_key(std::string& key) const;

 private:
  // What a thread knows: of each location the oldest value that it may still load, and of each
  // thread how many of its accesses happened before.
  struct View {
    std::vector<std::uint32_t> seen;
    std::vector<std::uint32_t> clock;
    void join(const View& other);
  };
  struct Store {
    std::uint64_t value;
    View carried;  // empty of a relaxed store
  };
  struct Region {
    std::uint64_t value = 0;
    int writer = -1;
    std::uint32_t written_at = 0;
    std::vector<std::uint32_t> read_at;  // by thread
  };
  void store(int thread, std::size_t location, std::uint64_t value, View carried);

  std::vector<View> views_;  // by thread
  View fences_;              // what the fences so far knew
  std::vector<std::vector<Store>> histories_;
  std::vector<Region> regions_;
};

}  // namespace paceline::testing
