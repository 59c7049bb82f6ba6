// What a launch is for, and nothing else: a rank that finds the others, adds a number to theirs,
// and ends. tests/peers/mpi_first_operation.cc does the same.
#include <cstdio>

#include <paceline/communicator.h>

#include "comm/base/try.h"

using namespace paceline;

namespace {

Status add_once() {
  PACELINE_TRY_ASSIGN(Communicator communicator, Communicator::init());
  const float mine = 1;
  float sum = 0;
  PACELINE_TRY(communicator.all_reduce(&mine, &sum, 1, DataType::kFloat32, ReduceOp::kSum));
  if (sum != static_cast<float>(communicator.size()))
    return Status(Code::kInternal, Scope::kOperation, "the sum is wrong");
  return communicator.close();
}

}  // namespace

int main() {
  const Status added = add_once();
  if (!added.ok()) std::fprintf(stderr, "%s\n", added.to_string().c_str());
  return added.ok() ? 0 : 1;
}
