#include "comm/base/membarrier.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace paceline {
namespace {

bool membarrier(int command) { return ::syscall(SYS_membarrier, command, 0, 0) == 0; }

}  // namespace

bool register_for_barriers(BarrierScope scope) {
  return membarrier(scope == BarrierScope::kProcess ? MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED
                                                    : MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED);
}

void pass_barrier(BarrierScope scope) {
  membarrier(scope == BarrierScope::kProcess ? MEMBARRIER_CMD_PRIVATE_EXPEDITED
                                             : MEMBARRIER_CMD_GLOBAL_EXPEDITED);
}

}  // namespace paceline
