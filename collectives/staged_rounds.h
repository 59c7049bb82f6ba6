// How an operation on device memory becomes operations on host memory, its rounds. A round copies a
// part of the input down, runs the same operation on that part, and copies its result up.
//
//   all_reduce of 10 MiB, slots of 4 MiB:        all_gather on 3 ranks, a block a rank:
//     round 0  |0..4|                              round 0  |a . .|b . .|c . .|
//     round 1       |4..8|                         round 1  |. a .|. b .|. c .|
//     round 2            |8..10|                   a round takes the same part of each block
//
// All ranks make the same rounds, because the rounds depend only on arguments that all ranks pass
// alike. Messages between two ranks, and all_to_all_v, whose counts differ between ranks, are one
// round each. It may be longer than a slot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <paceline/message.h>

#include "collectives/backend/backend.h"

namespace paceline {

/// Bytes of device memory, and their place in the memory of a round.
struct StagedCopy {
  const std::byte* device = nullptr;
  std::size_t at = 0;
  std::size_t bytes = 0;

  bool operator==(const StagedCopy&) const = default;
};

struct StagedRound {
  OperationRequest request;  ///< without memory, until place()
  std::vector<StagedCopy> down{};
  std::vector<StagedCopy> up{};
  std::size_t bytes = 0;      ///< of memory
  std::size_t output_at = 0;  ///< where the output begins; the input begins at 0
  bool has_input = false;
  bool has_output = false;
  // The request borrows these.
  std::vector<std::size_t> counts{};
  std::vector<std::size_t> recv_counts{};
  std::vector<Message> messages{};

  /// Points the request to this memory, and to the counts and messages. The round stays where it is
  /// from now on.
  void place(std::byte* memory);
};

/// Device memory from the first byte that is touched to the last.
struct StagedExtent {
  void add(const std::byte* from, std::size_t bytes);
  bool overlaps(const StagedExtent& other) const { return begin < other.end && other.begin < end; }

  std::uintptr_t begin = UINTPTR_MAX;
  std::uintptr_t end = 0;
};

/// The rounds of a request that the communicator accepts, on one rank. Buffers that this rank uses
/// lie in device memory. A broadcast may have two buffers on the root.
class StagedRounds {
 public:
  /// Copies the request, and borrows what it borrows.
  StagedRounds(const OperationRequest& request, int rank, int ranks, std::size_t slot_bytes);

  /// At least one.
  std::size_t size() const { return rounds_; }
  StagedRound at(std::size_t round) const;
  /// The device memory that all rounds read, and that they write.
  StagedExtent read() const { return extent_of(input_, true); }
  StagedExtent written() const { return extent_of(output_, false); }

 private:
  // Elements that lie one behind the other.
  struct Piece {
    const std::byte* device = nullptr;
    std::size_t count = 0;
  };
  // Elements that a round takes its part of: the array, or one of several blocks.
  struct Block {
    std::size_t begin = 0;
    std::size_t count = 0;
  };
  // The input or the output of this rank.
  struct Side {
    std::vector<Piece> pieces{};
    std::vector<Block> blocks{};

    bool is_used() const { return !blocks.empty(); }
  };

  std::vector<Block> blocks_of(const std::size_t* counts) const;
  Block own_block() const;
  void set_sides();
  void set_pieces();
  void set_rounds(std::size_t slot_bytes);
  std::size_t part_that_fits(std::size_t room) const;
  StagedExtent extent_of(const Side& side, bool is_input) const;
  std::uint32_t digest_of(std::size_t round) const;
  Block part_of(const Block& block, std::size_t round) const;
  std::size_t add_copies(const Side& side, std::size_t round, std::size_t at,
                         std::vector<StagedCopy>& copies) const;
  void set_counts(StagedRound& made, std::size_t round) const;
  StagedRound exchange() const;

  const OperationRequest request_;
  const int rank_;
  const int ranks_;
  const std::size_t element_bytes_;
  bool is_in_place_ = false;  // on host memory
  Side input_;
  Side output_;
  std::size_t part_ = 1;  // elements of each block in a round
  std::size_t rounds_ = 1;
};

}  // namespace paceline
