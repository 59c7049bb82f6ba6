// A map from ranges of elements to values: what the builder and the checker keep per memory, so
// that their work grows with the number of ranges and not with the number of elements.
#pragma once

#include <cstddef>
#include <iterator>
#include <map>
#include <utility>

namespace paceline {

/// The elements begin, begin + 1, …, end - 1.
struct Interval {
  std::size_t begin = 0;
  std::size_t end = 0;

  bool empty() const { return begin >= end; }
  bool operator==(const Interval&) const = default;
};

/// Disjoint ranges, each with a Value; what was never assigned has none. Every operation costs
/// O(log size + ranges touched).
template <class Value>
class IntervalMap {
 public:
  /// Gives all of `range` the value.
  void assign(Interval range, Value value) {
    if (range.empty()) return;
    const auto first = split(range.begin);
    pieces_.erase(first, split(range.end));
    pieces_.emplace(range.begin, Piece{range.end, std::move(value)});
  }

  /// Calls change(Value&) for each piece of `range`; gaps become pieces of Value{} first.
  template <class Change>
  void update(Interval range, Change change) {
    if (range.empty()) return;
    auto piece = split(range.begin);
    const auto last = split(range.end);
    for (std::size_t at = range.begin; at < range.end;) {
      const std::size_t next = piece == last ? range.end : piece->first;
      if (next > at) piece = pieces_.emplace_hint(piece, at, Piece{next, Value{}});
      change(piece->second.value);
      at = piece->second.end;
      ++piece;
    }
  }

  /// Calls see(Interval, const Value&) for each piece of `range`, clipped to it, in order; gaps
  /// are left out.
  template <class See>
  void visit(Interval range, See see) const {
    if (range.empty()) return;
    auto piece = pieces_.upper_bound(range.begin);
    if (piece != pieces_.begin()) --piece;
    for (; piece != pieces_.end() && piece->first < range.end; ++piece) {
      const Interval clipped{.begin = piece->first < range.begin ? range.begin : piece->first,
                             .end = piece->second.end < range.end ? piece->second.end : range.end};
      if (!clipped.empty()) see(clipped, piece->second.value);
    }
  }

 private:
  struct Piece {
    std::size_t end;
    Value value;
  };
  using Pieces = std::map<std::size_t, Piece>;

  // Cuts the piece that lies across `at`; returns the first piece that begins at or after it.
  typename Pieces::iterator split(std::size_t at) {
    const auto after = pieces_.lower_bound(at);
    if (after == pieces_.begin()) return after;
    const auto across = std::prev(after);
    if (across->second.end <= at) return after;
    const auto rest = pieces_.emplace_hint(after, at, across->second);
    across->second.end = at;
    return rest;
  }

  Pieces pieces_;
};

}  // namespace paceline
