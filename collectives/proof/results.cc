#include "collectives/proof/results.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "collectives/plan/accesses.h"
#include "collectives/plan/interval_map.h"
#include "collectives/plan/text.h"
#include "collectives/proof/symbolic.h"
#include "comm/base/try.h"

namespace paceline {
namespace {

// `elements` of a span, counted from its begin, hold `symbol`.
struct Piece {
  Interval elements;
  Symbol symbol;
};
using Pieces = std::vector<Piece>;

std::int64_t signed_of(std::size_t offset) { return static_cast<std::int64_t>(offset); }

// What the buffers of one rank hold.
class RankMemory {
 public:
  RankMemory(const Plan& plan, const Symbol& input, Placement placement)
      : shape_(placement == Placement::kInPlace ? plan.shape : Shape()),
        output_(placement == Placement::kInPlace ? 0 : 1) {
    write({PlanBuffer::kInput, 0}, {{{0, plan.shape.input_count}, input}});
  }

  /// Pieces of `count` elements from `span`; what is undefined is missing.
  Pieces read(const Span& span, std::size_t count) const {
    Pieces pieces;
    const std::size_t begin = offset_of(shape_, span);
    buffers_[place(span.buffer)].visit(
        {begin, begin + count}, [&](Interval range, const Symbol& symbol) {
          pieces.push_back(
              {{range.begin - begin, range.end - begin}, symbol.shifted(signed_of(begin))});
        });
    return pieces;
  }

  void write(const Span& span, const Pieces& pieces) {
    const std::size_t begin = offset_of(shape_, span);
    for (const Piece& piece : pieces) {
      const Interval range{piece.elements.begin + begin, piece.elements.end + begin};
      buffers_[place(span.buffer)].assign(range, piece.symbol.shifted(-signed_of(begin)));
    }
  }

 private:
  std::size_t place(PlanBuffer buffer) const {
    return buffer == PlanBuffer::kInput ? 0 : buffer == PlanBuffer::kOutput ? output_ : 2;
  }

  Shape shape_;  // where input and output lie in what is one buffer in place
  std::array<IntervalMap<Symbol>, 3> buffers_;  // input, output (or both in the first), scratch
  std::size_t output_;
};

// The pieces on which both are constant; both cover the same elements.
template <class See>
void overlay(const Pieces& left, const Pieces& right, See see) {
  std::size_t l = 0;
  std::size_t r = 0;
  while (l < left.size() && r < right.size()) {
    const Interval common{std::max(left[l].elements.begin, right[r].elements.begin),
                          std::min(left[l].elements.end, right[r].elements.end)};
    see(common, left[l].symbol, right[r].symbol);
    const bool left_ends = left[l].elements.end == common.end;
    const bool right_ends = right[r].elements.end == common.end;
    if (left_ends) ++l;
    if (right_ends) ++r;
  }
}

std::optional<std::size_t> first_gap(const Pieces& pieces, std::size_t count) {
  std::size_t covered = 0;
  for (const Piece& piece : pieces) {
    if (piece.elements.begin > covered) break;
    covered = piece.elements.end;
  }
  return covered < count ? std::optional(covered) : std::nullopt;
}

class Values {
 public:
  Values(std::span<const Plan> plans, const std::vector<PlanRequest>& requests, Placement placement,
         Order contributions)
      : plans_(plans),
        requests_(requests),
        contributions_(contributions),
        expressions_(static_cast<int>(plans.size())),
        where_(placement == Placement::kInPlace ? "in place: " : "out of place: ") {
    for (const Plan& plan : plans) {
      memories_.emplace_back(plan, expressions_.input(plan.rank), placement);
    }
  }

  Status execute(const Partners& partners, std::span<const StepRef> order) {
    for (const StepRef& ref : order) {
      const Plan& plan = plan_of(ref.rank);
      const Step& step = plan.steps[ref.step];
      Pieces value;
      if (step.kind == StepKind::kRecv) {
        const StepId send = partners[static_cast<std::size_t>(ref.rank)][ref.step];
        PACELINE_TRY(read(plan_of(step.peer), send, value));
      } else {
        PACELINE_TRY(read(plan, ref.step, value));
      }
      if (step.kind != StepKind::kSend) memory_of(ref.rank).write(step.target, value);
    }
    return {};
  }

  Status check_outputs() {
    for (const Plan& plan : plans_) {
      const Span whole{PlanBuffer::kOutput, 0};
      const Pieces held = memory_of(plan.rank).read(whole, plan.shape.output_count);
      if (const auto gap = first_gap(held, plan.shape.output_count)) {
        return wrong(plan, "output[" + std::to_string(*gap) + "] is never written");
      }
      for (const Origin& origin : origins_of(requests_, plan.rank))
        PACELINE_TRY(check_origin(plan, origin));
      if (requests_.front().kind == OperationKind::kAllReduce) PACELINE_TRY(check_same(plan, held));
    }
    return miscounted_;
  }

 private:
  const Plan& plan_of(int rank) const { return plans_[static_cast<std::size_t>(rank)]; }
  RankMemory& memory_of(int rank) { return memories_[static_cast<std::size_t>(rank)]; }
  Status wrong(const Plan& plan, const std::string& what) const {
    return defect(plan, where_ + what);
  }

  // What a send, copy or reduce makes of its operands.
  Status read(const Plan& plan, StepId id, Pieces& value) {
    const Step& step = plan.steps[id];
    if (step.kind != StepKind::kReduce) return read_operand(plan, id, step.from, value);
    std::vector<Pieces> operands;
    for (std::size_t i = 0; i < step.operand_count; ++i) {
      PACELINE_TRY(read_operand(plan, id, plan.operands_of(step)[i], operands.emplace_back()));
      note_contributions(plan, id, i, operands.back());
    }
    value = reduce(operands, step.count);
    return {};
  }

  // A wrong count scales or divides a sum wrongly. Other defects, which may follow from the same
  // mistake, are reported first.
  void note_contributions(const Plan& plan, StepId id, std::size_t operand, const Pieces& pieces) {
    const int said = plan.contributions_of(plan.steps[id])[operand];
    for (const Piece& piece : pieces) {
      const std::size_t held = expressions_.terms(piece.symbol.expression).size();
      if (held == static_cast<std::size_t>(said) || !miscounted_.ok()) continue;
      miscounted_ =
          defect(plan, id,
                 where_ + "operand " + std::to_string(operand) + " holds contributions of " +
                     std::to_string(held) + " ranks, not of " + std::to_string(said));
    }
  }

  // Each where all operands are constant.
  Pieces reduce(const std::vector<Pieces>& operands, std::size_t count) {
    Pieces reduced;
    std::vector<std::size_t> places(operands.size(), 0);
    std::vector<Symbol> symbols(operands.size());
    for (std::size_t begin = 0; begin < count; begin = reduced.back().elements.end) {
      std::size_t end = count;
      for (std::size_t k = 0; k < operands.size(); ++k) {
        while (operands[k][places[k]].elements.end <= begin) ++places[k];
        const Piece& piece = operands[k][places[k]];
        end = std::min(end, piece.elements.end);
        symbols[k] = piece.symbol;
      }
      reduced.push_back({{begin, end}, expressions_.reduce(symbols)});
    }
    return reduced;
  }

  Status read_operand(const Plan& plan, StepId id, const Span& span, Pieces& value) {
    const std::size_t count = plan.steps[id].count;
    value = memory_of(plan.rank).read(span, count);
    const auto gap = first_gap(value, count);
    if (!gap) return {};
    return defect(plan, id,
                  where_ + "element " + std::to_string(*gap) + " of an operand was never written");
  }

  Status check_origin(const Plan& plan, const Origin& origin) {
    const Span span{PlanBuffer::kOutput, origin.begin};
    for (const Piece& piece : memory_of(plan.rank).read(span, origin.count)) {
      // An element of this piece, and what it holds, are as far into their range.
      const Symbol held = piece.symbol.shifted(-signed_of(origin.input_begin));
      const std::string at = "output[" + std::to_string(origin.begin + piece.elements.begin) + "] ";
      PACELINE_TRY(check_symbol(plan, at, held, origin.rank));
    }
    return {};
  }

  // Of one rank's elements, or of all ranks'.
  Status check_symbol(const Plan& plan, const std::string& at, const Symbol& held, int rank) {
    if (rank != Origin::kEveryRank) {
      if (held == expressions_.input(rank)) return {};
      return wrong(plan, at + "is not the expected element of rank " + std::to_string(rank));
    }
    const auto terms = expressions_.terms(held.expression);
    for (const Term& term : terms) {
      if (const std::int64_t off = term.shift + held.shift; off != 0) {
        return wrong(plan, at + "holds an element of rank " + std::to_string(term.rank) +
                               " that is shifted by " + std::to_string(off));
      }
      if (term.times != 1) {
        return wrong(plan, at + "holds the contribution of rank " + std::to_string(term.rank) +
                               " " + std::to_string(term.times) + " times");
      }
    }
    if (terms.size() == plans_.size()) return check_order(plan, at, held);
    int missing = 0;
    while (static_cast<std::size_t>(missing) < terms.size() &&
           terms[static_cast<std::size_t>(missing)].rank == missing) {
      ++missing;
    }
    return wrong(plan, at + "lacks the contribution of rank " + std::to_string(missing));
  }

  Status check_order(const Plan& plan, const std::string& at, const Symbol& held) {
    if (contributions_ == Order::kAny || plans_.size() == 1) return {};
    std::vector<Symbol> inputs;
    for (const Plan& each : plans_) inputs.push_back(expressions_.input(each.rank));
    const Symbol in_order = expressions_.reduce(inputs);
    if (held.expression == in_order.expression && held.shift == in_order.shift) return {};
    return wrong(plan, at + "is not a single reduce of all inputs in the order of the ranks");
  }

  Status check_same(const Plan& plan, const Pieces& held) {
    const Pieces expected = memory_of(0).read({PlanBuffer::kOutput, 0}, plan.shape.output_count);
    std::string differs;
    overlay(held, expected, [&](Interval elements, const Symbol& here, const Symbol& there) {
      if (here != there && differs.empty()) differs = std::to_string(elements.begin);
    });
    if (differs.empty()) return {};
    return wrong(plan, "output[" + differs +
                           "] is reduced in another order than on rank 0: their bits may differ");
  }

  std::span<const Plan> plans_;
  const std::vector<PlanRequest>& requests_;
  const Order contributions_;
  Expressions expressions_;
  std::string where_;
  std::vector<RankMemory> memories_;
  Status miscounted_;
};

// Sets of ranks, one per step of one plan: those that are known to have begun.
class RankSets {
 public:
  RankSets(std::size_t sets, std::size_t ranks)
      : words_((ranks + 63) / 64), bits_(sets * words_, 0) {}

  void insert(std::size_t set, std::size_t rank) {
    bits_[set * words_ + rank / 64] |= std::uint64_t{1} << (rank % 64);
  }
  bool contains(std::size_t set, std::size_t rank) const {
    return (bits_[set * words_ + rank / 64] >> (rank % 64) & 1) != 0;
  }
  void unite(std::size_t set, const RankSets& from, std::size_t other) {
    for (std::size_t word = 0; word < words_; ++word) {
      bits_[set * words_ + word] |= from.bits_[other * words_ + word];
    }
  }

 private:
  std::size_t words_;
  std::vector<std::uint64_t> bits_;
};

}  // namespace

Status check_values(std::span<const Plan> plans, const std::vector<PlanRequest>& requests,
                    const Partners& partners, std::span<const StepRef> order, Placement placement,
                    Order contributions) {
  Values values(plans, requests, placement, contributions);
  PACELINE_TRY(values.execute(partners, order));
  return values.check_outputs();
}

Status check_barrier(std::span<const Plan> plans, const Partners& partners,
                     std::span<const StepRef> order) {
  // One set per step and, last, one for the rank's end.
  std::vector<RankSets> known;
  for (const Plan& plan : plans) {
    RankSets& sets = known.emplace_back(plan.steps.size() + 1, plans.size());
    sets.insert(plan.steps.size(), static_cast<std::size_t>(plan.rank));
  }
  for (const StepRef& ref : order) {
    const std::size_t rank = static_cast<std::size_t>(ref.rank);
    const Plan& plan = plans[rank];
    const Step& step = plan.steps[ref.step];
    RankSets& sets = known[rank];
    sets.insert(ref.step, rank);
    for (const StepId id : plan.dependencies_of(step)) sets.unite(ref.step, sets, id);
    if (step.kind == StepKind::kRecv) {
      sets.unite(ref.step, known[static_cast<std::size_t>(step.peer)], partners[rank][ref.step]);
    }
    sets.unite(plan.steps.size(), sets, ref.step);
  }
  for (const Plan& plan : plans) {
    const RankSets& sets = known[static_cast<std::size_t>(plan.rank)];
    for (std::size_t rank = 0; rank < plans.size(); ++rank) {
      if (sets.contains(plan.steps.size(), rank)) continue;
      return defect(
          plan, "may leave the barrier before rank " + std::to_string(rank) + " has entered it");
    }
  }
  return {};
}

}  // namespace paceline
