#include "tests/mixed/act.h"

#include <algorithm>
#include <iterator>

namespace paceline::testing::mixed {
namespace {

std::size_t draw_count(Random& random) {
  const std::uint64_t size = random.below(1000);
  return random.below(size < 700 ? 17 : size < 950 ? 600 : size < 997 ? 6000 : 70'000);
}

int draw_rank(Random& random, int ranks) {
  return static_cast<int>(random.below(static_cast<std::uint64_t>(ranks)));
}

Call draw_call(Random& random, int ranks) {
  Call call;
  do {
    call.kind = kOperationKinds[random.below(std::size(kOperationKinds))];
  } while (call.kind == OperationKind::kClose || !is_of_all(call.kind));
  call.root = draw_rank(random, ranks);
  call.type = kDataTypes[random.below(std::size(kDataTypes))];
  call.op = kReduceOps[random.below(std::size(kReduceOps))];
  call.count = draw_count(random);
  return call;
}

Act::Kind draw_kind(Random& random, const ActForm& form) {
  const std::uint64_t kind = random.below(1000);
  if (kind < 5) return Act::Kind::kMessages;
  if (kind < 8 && form.may_split) return Act::Kind::kSplit;
  if (kind < 30) return Act::Kind::kRefused;
  if (kind < 100 && form.ranks > 1) return Act::Kind::kPair;
  if (kind < 350) return form.is_in_c ? Act::Kind::kGroup : Act::Kind::kBatch;
  if (kind < 400 && !form.is_in_c) return Act::Kind::kMany;
  return Act::Kind::kCall;
}

// All but the last may be of any length.
std::vector<Call> draw_calls(Random& random, Act::Kind kind, int ranks) {
  std::vector<Call> calls = {draw_call(random, ranks)};
  if (kind == Act::Kind::kCall || kind == Act::Kind::kPair) return calls;
  for (std::uint64_t more = random.below(8); more > 0; --more)
    calls.push_back(draw_call(random, ranks));
  for (Call& call : calls) {
    // An op that plRedOpCreatePreMulSum() makes would have to outlive the group.
    if (kind == Act::Kind::kGroup && call.op == ReduceOp::kPreMulSum) call.op = ReduceOp::kSum;
    if (kind != Act::Kind::kMany) continue;
    call.kind = OperationKind::kAllReduce;
    call.type = calls.front().type;
    call.op = calls.front().op;
  }
  return calls;
}

void draw_split(Random& random, int ranks, Act& act) {
  for (int rank = 0; rank < ranks; ++rank) {
    act.colors.push_back(static_cast<int>(random.below(4)) - 1);  // -1: kNoColor
    act.keys.push_back(static_cast<int>(random.below(3)) - 1);
  }
}

const char* name(Act::Kind kind) {
  constexpr const char* kNames[] = {"call",     "batch", "all_reduce_many", "group",
                                    "exchange", "pair",  "a refused call",  "split"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace

Act draw_act(Random random, const ActForm& form) {
  Act act{.kind = draw_kind(random, form)};
  act.seed = random.next();
  switch (act.kind) {
    case Act::Kind::kSplit:
      draw_split(random, form.ranks, act);
      break;
    case Act::Kind::kMessages:
    case Act::Kind::kRefused:
      break;
    case Act::Kind::kPair:
      act.from = draw_rank(random, form.ranks);
      act.to = (act.from + 1 + draw_rank(random, form.ranks - 1)) % form.ranks;
      [[fallthrough]];
    default:
      act.calls = draw_calls(random, act.kind, form.ranks);
  }
  return act;
}

std::string to_text(const Act& act, int ranks) {
  std::string text = name(act.kind);
  if (act.kind == Act::Kind::kPair) {
    const Call& call = act.calls.front();
    return text + " of " + std::to_string(call.count) + " x " + std::string(name(call.type)) +
           " from rank " + std::to_string(act.from) + " to rank " + std::to_string(act.to);
  }
  for (std::size_t rank = 0; rank < act.colors.size(); ++rank)
    text += " " + std::to_string(act.colors[rank]) + "/" + std::to_string(act.keys[rank]);
  for (const Call& call : act.calls) text += " " + signature_of(call, ranks).to_string();
  return text;
}

Random drawn(std::uint64_t seed, std::initializer_list<std::uint64_t> purpose) {
  Random random(seed);
  for (const std::uint64_t part : purpose) random = Random(random.next() ^ part);
  return random;
}

}  // namespace paceline::testing::mixed
