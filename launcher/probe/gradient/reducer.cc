#include "launcher/probe/gradient/reducer.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace paceline::probe {
namespace {

struct Row {
  std::string_view name;
  Result<std::unique_ptr<Reducer>> (*make)(Communicator&, const Trace&, const GradientOrders&);
};
constexpr Row kRows[] = {{"none", make_whole_reducer}, {"paceline", make_pipeline_reducer}};

}  // namespace

Result<std::unique_ptr<Reducer>> make_reducer(Communicator& world, const Trace& trace,
                                              const GradientOrders& orders) {
  const auto* const found = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& row) {
    return row.name == orders.reducer;
  });
  if (found == std::end(kRows))
    return Status(Code::kInvalidArgument, Scope::kProcess,
                  "nobody called '" + orders.reducer + "' reduces gradients");
  return found->make(world, trace, orders);
}

}  // namespace paceline::probe
