// What an operation is, in the words that must agree on every rank. It travels with each message,
// so ranks that called different things find out at the first message they exchange.
//
// A message between two ranks is no collective operation and has no number among them: it carries
// that of the collective operation before which it was sent.
#pragma once

#include <cstdint>
#include <string>

#include <paceline/types.h>

namespace paceline {

struct Signature {
  /// Number of the collective operation in its communicator; of others, of the one that comes next.
  std::uint64_t sequence = 0;
  /// Of kinds that have counts: their sum; of all_to_all_v, in which each rank knows its own: 0. Of
  /// an exchange: how many messages.
  std::uint64_t count = 0;
  /// Of a send where it goes, of a receive where it comes from; -1 where the kind has none.
  std::int32_t root = -1;
  OperationKind kind{};
  DataType type{};
  ReduceOp op{};
  /// Digest of how the operation is carried out (algorithm, segment size), and of counts that all
  /// know: ranks that agree on all else and not on this were configured, or called it, differently.
  /// Of a send: how many its rank had sent to the same peer before.
  std::uint32_t plan = 0;
  /// Digest of all operations before this one: so a disagreement that no message of its own
  /// operation could show is found at the next message between any two ranks.
  std::uint64_t history = 0;

  bool operator==(const Signature&) const = default;
  /// Equal but for the history.
  bool is_same_call(const Signature& other) const;

  /// "all_reduce(1000 x float32, sum) #12", "send(1000 x float32 to 3) before #12"
  std::string to_string() const;
  /// The `history` of the operation after this one: a digest of its own history and of what is
  /// called. Not of the number, which the history implies. One multiplication mixes all of it
  /// (wyhash's step: both halves of the product).
  std::uint64_t next_history() const {
    __extension__ using Product = unsigned __int128;
    // Put together in registers: a load of fields that have just been written one
    // by one would wait until all writes before it have reached the cache.
    const std::uint64_t form = std::uint64_t{static_cast<std::uint32_t>(root)} |
                               std::uint64_t{static_cast<std::uint8_t>(kind)} << 32 |
                               std::uint64_t{static_cast<std::uint8_t>(type)} << 40 |
                               std::uint64_t{static_cast<std::uint8_t>(op)} << 48;
    const Product product = static_cast<Product>((history ^ count) + 0x9E3779B97F4A7C15) *
                            ((form ^ plan * 0xC2B2AE3D27D4EB4F) + 0x165667B19E3779F9);
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }
};

/// The fields in which two signatures differ, for a person: "count 10 against 20". Empty if none.
std::string difference(const Signature& mine, const Signature& theirs);

}  // namespace paceline
