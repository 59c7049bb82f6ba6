#include "launcher/tools/measure/probe/gradient/reducer.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace paceline::probe {
namespace {

struct KnownReducer {
  std::string_view name;
  Result<std::unique_ptr<Reducer>> (*make)(Communicator&, const Trace&, const GradientOrders&);
};
constexpr KnownReducer kReducers[] = {{"none", make_whole_reducer},
                                      {"paceline", make_pipeline_reducer}};

}  // namespace

Result<std::unique_ptr<Reducer>> make_reducer(Communicator& world, const Trace& trace,
                                              const GradientOrders& orders) {
  const auto* const found =
      std::find_if(std::begin(kReducers), std::end(kReducers),
                   [&](const KnownReducer& row) { return row.name == orders.reducer; });
  if (found == std::end(kReducers))
    return Status(Code::kInvalidArgument, Scope::kProcess,
                  "unknown reducer '" + orders.reducer + "'");
  return found->make(world, trace, orders);
}

}  // namespace paceline::probe
