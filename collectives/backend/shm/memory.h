// What the flag protocol does to the shared segment and to the buffers of an operation.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "collectives/backend/backend.h"
#include "collectives/backend/shm/form.h"
#include "collectives/backend/shm/layout.h"
#include "collectives/backend/shm/method.h"
#include "collectives/reduce/kernels.h"
#include "comm/arena_view.h"
#include "comm/doorbell.h"
#include "comm/memory_domain.h"

namespace paceline::shm {

/// The Memory of protocol.h, of one rank. Nothing here waits or decides. What a short operation
/// needs stands in this header, to become part of its caller.
class Memory {
 public:
  static constexpr std::uint64_t kCalls = shm::kCalls;
  static constexpr std::uint64_t kExchanges = shm::kExchanges;
  static constexpr std::uint64_t kChunks = shm::kChunks;

  /// `bells` are the ranks' own, by rank; they and the layout's memory are borrowed. `registered`:
  /// Doorbell::register_process() has succeeded.
  Memory(const Layout& layout, int rank, std::vector<Ringer> bells, bool registered, Arenas arenas)
      : layout_(layout),
        rank_(rank),
        others_bells_(std::move(bells)),
        registered_(registered),
        arenas_(std::move(arenas)),
        operands_(static_cast<std::size_t>(layout.ranks())),
        inputs_(operands_.size()),
        outputs_(operands_.size()) {
    others_bells_.erase(others_bells_.begin() + rank);
  }

  /// So that no operation stops at a page of them. At the beginning, where one rank reads all.
  void touch_posts() const;

  /// How many times signature.count there is in a contribution.
  static constexpr std::size_t blocks_of(OperationKind kind, int ranks) {
    const bool has_blocks =
        kind == OperationKind::kReduceScatter || kind == OperationKind::kAllToAll;
    return has_blocks ? static_cast<std::size_t>(ranks) : 1;
  }
  static std::size_t contribution_bytes(const Signature& signature, int ranks) {
    return signature.count * size_of(signature.type) * blocks_of(signature.kind, ranks);
  }

  /// The operation that the calls below are about, borrowed, how it goes, and the number of its
  /// first chunk. How many chunks may carry it; 0: it is short.
  std::uint64_t begin(const OperationRequest& request, const Way& way, bool for_all,
                      std::uint64_t first_chunk) {
    request_ = &request;
    element_bytes_ = size_of(request.signature.type);
    posts_ = false;
    if (way.is_short()) [[likely]] {
      short_bytes_ = input_bytes();
      return 0;
    }
    for_all_ = for_all;
    return begin_long(way, first_chunk);
  }
  /// Its buffers may be freed.
  void end() {
    if (offers_) take_back();
  }
  const Signature& signature() const { return request_->signature; }
  /// By which method a long operation went, once its ranks have met.
  Method method_of_long() const { return method_of_long_; }
  /// What others touch are its buffers no more, but what they were.
  Status leave_buffers();

  void publish(std::uint64_t operation, std::uint64_t flag, bool everybody);
  void explain(std::uint64_t operation);
  bool is_explained(int rank, std::uint64_t operation) const {
    return layout_.signature(rank, operation).number.load(std::memory_order_acquire) ==
           operation + 1;
  }
  std::uint64_t flag(int rank, std::uint64_t operation) const {
    return layout_.call(rank, operation).line.flag.load(std::memory_order_acquire);
  }
  void take(int root, std::uint64_t operation);
  void combine(std::uint64_t operation);
  void expect_exchange(std::uint64_t operation);

  bool arrive(std::uint64_t operation) {
    const auto ranks = static_cast<std::uint64_t>(layout_.ranks());
    const std::uint64_t before =
        layout_.gathering(operation).arrivals.fetch_add(1, std::memory_order_acq_rel);
    return before % ranks == ranks - 1;
  }
  void gather(std::uint64_t operation);
  void conclude(std::uint64_t operation, std::uint64_t flag) {
    layout_.gathering(operation).result.flag.store(flag, std::memory_order_release);
  }
  std::uint64_t conclusion(std::uint64_t operation) const {
    return layout_.gathering(operation).result.flag.load(std::memory_order_acquire);
  }
  void take_result(std::uint64_t operation) {
    if (short_bytes_ > 0) std::memcpy(request_->output, gathered(operation), short_bytes_);
  }

  std::uint64_t counter(int rank, Counter which) const {
    return layout_.counter(rank, which).load(std::memory_order_acquire);
  }
  void advance(Counter which, std::uint64_t value) {
    set(which, value);
    wake_others();
  }
  void set(Counter which, std::uint64_t value) {
    layout_.counter(rank_, which).store(value, std::memory_order_release);
  }
  static void fence() { std::atomic_thread_fence(std::memory_order_seq_cst); }

  /// This rank is on that CPU, as the others may know.
  void set_cpu(std::uint64_t cpu) {
    std::atomic<std::uint64_t>& own = layout_.cpu(rank_);
    if (own.load(std::memory_order_relaxed) != cpu + 1)
      own.store(cpu + 1, std::memory_order_relaxed);
  }
  /// As far as `rank` has said; a hint.
  bool is_on_same_cpu(int rank) const {
    return layout_.cpu(rank).load(std::memory_order_relaxed) ==
           layout_.cpu(rank_).load(std::memory_order_relaxed);
  }

  void wake_others() {
    if (registered_) {
      for (const Ringer& bell : others_bells_) bell.ring_registered();
      return;
    }
    std::atomic_thread_fence(std::memory_order_seq_cst);
    for (const Ringer& bell : others_bells_) bell.ring_behind_fence();
  }

  bool needs_chunks() const {
    return !posts_ && (!offers_ || (is_read() && offer_.input == Offer::kNone) ||
                       (is_written() && offer_.output == Offer::kNone));
  }
  bool take_posts(std::uint64_t operation);
  std::optional<std::uint64_t> begin_direct(std::uint64_t operation, const Form& form);
  void make_piece(std::uint64_t piece);

  void stage(std::uint64_t chunk);
  void reduce(std::uint64_t chunk);
  void drain(std::uint64_t chunk);
  void drain_staged(int root, std::uint64_t chunk);
  void take_staged(std::uint64_t chunk);

  /// What `rank` has called, once that is explained.
  const Signature& signature_of(int rank, std::uint64_t operation) const {
    return layout_.signature(rank, operation).signature;
  }

 private:
  // Elements of the operation, or of its chunk.
  struct Range {
    std::size_t begin;
    std::size_t end;
    std::size_t size() const { return end - begin; }
  };
  std::uint64_t begin_long(const Way& way, std::uint64_t first_chunk);
  std::uint64_t count_chunks(std::uint64_t first_chunk);
  bool lies_in_buffers() const;
  bool is_posted_by(int rank, std::uint64_t operation) const;
  void offer_buffers();
  void take_back();
  std::uint64_t retain(const void* begin, std::size_t bytes);
  Offer offer_of(int rank, std::uint64_t operation) const;
  bool look_up(int rank, std::uint64_t operation, bool reads, bool writes);
  bool look_up_broadcast(std::uint64_t operation, bool everybody);
  bool look_up_arrays(std::uint64_t operation, const Form& form);
  bool look_up_for_own(std::uint64_t operation);
  bool look_up_for_all(std::uint64_t operation);
  bool is_read() const;
  bool is_written() const;
  std::size_t longest_bytes() const;
  bool is_streamed() const;
  void copy_for_all(const Range& range);
  void send_or_fetch(const Range& range);
  void move_long(std::byte* to, const void* from, std::size_t size) const;
  bool is_of_kind(OperationKind kind) const { return request_->signature.kind == kind; }
  void reduce_for_all(const Range& range);
  void stream_for_all(const Range& range);
  void fetch_ahead(std::size_t at, std::size_t end) const;
  void take_own(const Range& range);
  void take_own_of_posts();
  void post_input(std::byte* post) const;
  void stage_blocks(const Range& range, std::byte* staged);
  Range chunk_range(std::uint64_t chunk) const;
  Range part(const Range& chunk, int rank) const;
  std::size_t bytes(std::size_t count) const { return count * element_bytes_; }
  std::size_t block_bytes() const { return bytes(request_->signature.count); }
  std::size_t input_bytes() const {
    return contribution_bytes(request_->signature, layout_.ranks());
  }
  // Where what is for this rank begins.
  std::size_t own_in_input() const {
    return is_of_kind(OperationKind::kAllGather) ? 0
                                                 : block_bytes() * static_cast<std::size_t>(rank_);
  }
  std::size_t output_bytes() const {
    return block_bytes() * (is_of_kind(OperationKind::kAllGather) ? inputs_.size() : 1);
  }
  bool fits_line() const { return short_bytes_ <= Line::kDataBytes; }
  std::byte* gathered(std::uint64_t operation) const {
    return fits_line() ? layout_.gathering(operation).result.data
                       : layout_.gathered_post(operation);
  }
  const std::byte* contribution(int rank, std::uint64_t operation, bool everybody) const;
  void reduce_all(std::byte* target, std::size_t count);

  const Layout layout_;
  const int rank_;
  std::vector<Ringer> others_bells_;
  const bool registered_;
  const Arenas arenas_;

  const OperationRequest* request_ = nullptr;
  std::size_t element_bytes_ = 0;
  std::size_t short_bytes_ = 0;  // of a contribution in one piece; 0 where there is none
  std::size_t chunk_count_ = 0;  // elements of a block in a chunk, where chunks carry it
  std::uint64_t first_chunk_ = 0;
  const Kernels* kernels_ = nullptr;   // of the operation's type, where everybody contributes
  std::vector<const void*> operands_;  // by rank: of a reduction

  // Of a long operation.
  bool offers_ = false;    // others may work in its arrays, where these lie in buffers
  bool may_post_ = false;  // who does not offer them contributes in one piece
  bool posts_ = false;     // as this rank does
  bool for_all_ = false;   // each piece is made for all ranks
  Method method_of_long_ = Method::kPipelined;
  Offer offer_;
  Range pieces_{0, 0};                    // what this rank makes of it, or may, in pieces
  std::size_t piece_count_ = 0;           // elements of one
  std::vector<const std::byte*> inputs_;  // by rank: where they lie in buffers
  std::vector<std::byte*> outputs_;
};

namespace detail {

inline void fetch_to_write(const void* begin, std::size_t bytes) {
  const auto* const lines = static_cast<const std::byte*>(begin);
  for (std::size_t at = 0; at < bytes; at += kLineBytes)
    asm volatile("prefetchw %0" : : "m"(lines[at]));
}

// In two pieces that may overlap.
template <std::size_t kPiece>
void copy_ends(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::memcpy(to, from, kPiece);
  std::memcpy(to + bytes - kPiece, from + bytes - kPiece, kPiece);
}

// Of 1 to Line::kDataBytes bytes, without a call.
inline void copy_line(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes >= 32) return copy_ends<32>(to, from, bytes);
  if (bytes >= 16) return copy_ends<16>(to, from, bytes);
  if (bytes >= 8) return copy_ends<8>(to, from, bytes);
  if (bytes >= 4) return copy_ends<4>(to, from, bytes);
  for (std::size_t i = 0; i < bytes; ++i) to[i] = from[i];
}

// All but what lies from `begin` to `end`.
inline void copy_around(std::byte* to, const std::byte* from, std::size_t bytes, std::size_t begin,
                        std::size_t end) {
  std::memcpy(to, from, begin);
  std::memcpy(to + end, from + end, bytes - end);
}

}  // namespace detail

inline void Memory::publish(std::uint64_t operation, std::uint64_t flag, bool everybody) {
  Call& call = layout_.call(rank_, operation);
  if (!fits_line()) {
    post_input(layout_.post(rank_, operation, everybody));
    if (posts_) std::memcpy(call.line.data, &offer_, sizeof offer_);
  } else if (short_bytes_ > 0) {
    detail::copy_line(call.line.data, request_->input, short_bytes_);
  } else if (offers_) {
    std::memcpy(call.line.data, &offer_, sizeof offer_);
  }
  call.line.flag.store(flag, std::memory_order_release);
  if (everybody) kernels_ = &kernels().of(request_->signature.type);
}

// But for this rank's own block, where each rank has one: nobody asks for that.
inline void Memory::post_input(std::byte* post) const {
  if (short_bytes_ == block_bytes()) {
    std::memcpy(post, request_->input, short_bytes_);
    return;
  }
  const std::size_t own = own_in_input();
  detail::copy_around(post, request_->input, short_bytes_, own, own + block_bytes());
}

inline void Memory::explain(std::uint64_t operation) {
  CallSignature& own = layout_.signature(rank_, operation);
  own.signature = request_->signature;
  own.number.store(operation + 1, std::memory_order_release);
}

// This rank's own comes from where nobody else looks: a line that all read is on its way.
inline const std::byte* Memory::contribution(int rank, std::uint64_t operation,
                                             bool everybody) const {
  if (rank == rank_) return request_->input;
  return fits_line() ? layout_.call(rank, operation).line.data
                     : layout_.post(rank, operation, everybody);
}

// Others have read the lines that the next exchange writes. They have to be fetched back, and a
// flag waits for all that was written before it: so they are on their way while the program
// computes. It is guessed that the next exchange is as long as this one. All-reduce of 2 ranks,
// with and without in turn (bench --against): 1 KiB -46 ns, 4 KiB -210, 8 KiB -206; beyond it gains
// nothing.
inline void Memory::expect_exchange(std::uint64_t operation) {
  constexpr std::size_t kMost = 8192;
  if (short_bytes_ > kMost) return;
  detail::fetch_to_write(&layout_.call(rank_, operation).line, kLineBytes);
  if (fits_line()) return;
  const std::byte* const post = layout_.post(rank_, operation, true);
  if (short_bytes_ == block_bytes()) return detail::fetch_to_write(post, short_bytes_);
  const std::size_t own = own_in_input(), behind = own + block_bytes();
  detail::fetch_to_write(post, own);
  detail::fetch_to_write(post + behind, short_bytes_ - behind);
}

inline void Memory::take(int root, std::uint64_t operation) {
  if (short_bytes_ == 0) return;
  std::memcpy(request_->output, contribution(root, operation, false), short_bytes_);
}

inline void Memory::combine(std::uint64_t operation) {
  if (short_bytes_ == 0) return;
  for (int rank = 0; rank < layout_.ranks(); ++rank)
    operands_[static_cast<std::size_t>(rank)] = contribution(rank, operation, true);
  const bool is_shared = is_of_kind(OperationKind::kAllReduce) || is_of_kind(OperationKind::kClose);
  if (!is_shared) [[unlikely]]
    return take_own_of_posts();
  reduce_all(request_->output, request_->signature.count);
}

// In the order of the ranks, so all ranks get the same bits.
inline void Memory::reduce_all(std::byte* target, std::size_t count) {
  const ReduceOp op = request_->signature.op;
  if (op == ReduceOp::kAvg) return kernels_->average_all(target, operands_, count);
  kernels_->reduce_all(op, target, operands_, count);
}

}  // namespace paceline::shm
