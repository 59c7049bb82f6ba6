#include "launcher/probe/operation.h"

#include <algorithm>

namespace paceline::probe {
namespace {

Status run_all_reduce(Subject& subject, const Call& call) {
  return subject.all_reduce(call.in, call.out, call.op);
}
Status run_broadcast(Subject& subject, const Call& call) {
  return subject.broadcast(call.out, call.root);
}
Status run_barrier(Subject& subject, const Call&) { return subject.barrier(); }

double one(int) { return 1; }
double all_reduce_factor(int ranks) { return 2.0 * (ranks - 1) / ranks; }

int everybody(int ranks) { return ranks; }
int all_but_one(int ranks) { return ranks - 1; }
int nobody(int) { return 0; }

constexpr Operation kOperations[] = {
    {.name = "all_reduce",
     .has_elements = true,
     .reduces = true,
     .has_root = false,
     .run = run_all_reduce,
     .bus_factor = all_reduce_factor,
     .written = everybody},
    {.name = "broadcast",
     .has_elements = true,
     .reduces = false,
     .has_root = true,
     .run = run_broadcast,
     .bus_factor = one,
     .written = all_but_one},
    {.name = "barrier",
     .has_elements = false,
     .reduces = false,
     .has_root = false,
     .run = run_barrier,
     .bus_factor = one,
     .written = nobody},
};

}  // namespace

std::span<const Operation> operations() { return kOperations; }

const Operation* find_operation(std::string_view name) {
  const auto* const end = std::end(kOperations);
  const auto* const found =
      std::find_if(std::begin(kOperations), end,
                   [name](const Operation& operation) { return operation.name == name; });
  return found != end ? found : nullptr;
}

}  // namespace paceline::probe
