#include "tests/sim/scenario.h"

#include <algorithm>
#include <utility>

#include "comm/base/signature.h"

namespace paceline::testing {

std::vector<Call> calls_of(const Scenario& scenario, int rank) {
  std::vector<Call> calls = scenario.calls;
  for (const Deviation& deviation : scenario.deviations) {
    const bool mine = std::ranges::count(deviation.ranks, rank) > 0;
    if (!mine || deviation.index >= calls.size()) continue;
    const auto at = calls.begin() + static_cast<std::ptrdiff_t>(deviation.index);
    switch (deviation.kind) {
      case Deviation::Kind::kReplace:
        *at = deviation.call;
        break;
      case Deviation::Kind::kSkip:
        calls.erase(at);
        break;
      case Deviation::Kind::kSwap:
        if (at + 1 != calls.end()) std::swap(*at, *(at + 1));
        break;
    }
  }
  return calls;
}

std::string words_of(const Call& call, std::uint64_t sequence, int ranks) {
  Signature signature = signature_of(call, ranks);
  signature.sequence = sequence;
  return signature.to_string();
}

}  // namespace paceline::testing
