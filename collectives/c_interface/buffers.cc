#include "collectives/c_interface/calls.h"
#include "comm/memory_domain.h"

using namespace paceline::c_interface;
using paceline::MemoryDomain;
using paceline::Status;

plResult_t plBufferAlloc(void** buffer, size_t bytes) {
  if (buffer != nullptr) *buffer = nullptr;
  return guarded(nullptr, [&]() -> Status {
    if (buffer == nullptr) return invalid("where the buffer is to be put is NULL");
    const auto memory = MemoryDomain::of_process().allocate(bytes);
    if (memory.ok()) *buffer = memory->data();
    return memory.status();
  });
}

plResult_t plBufferFree(void* buffer) {
  return guarded(nullptr, [&]() -> Status {
    if (buffer == nullptr) return {};
    return MemoryDomain::of_process().free(buffer);
  });
}
