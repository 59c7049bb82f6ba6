#include "collectives/c_interface/calls.h"
#include "comm/memory_domain.h"

using namespace paceline::c_interface;
using paceline::MemoryDomain;
using paceline::Status;

plResult_t plBufferAlloc(void** buffer, size_t bytes) {
  if (buffer != nullptr) *buffer = nullptr;
  return guarded(nullptr, [&]() -> Status {
    if (buffer == nullptr) return invalid("the pointer for the buffer is NULL");
    const auto memory = MemoryDomain::of_process().allocate(bytes);
    if (memory.ok()) *buffer = memory->data();
    return memory.status();
  });
}

plResult_t plBufferRegister(void* memory, size_t bytes) {
  return guarded(nullptr, [&]() -> Status {
    if (memory == nullptr) return invalid("the memory to register is NULL");
    return MemoryDomain::of_process().take_over({static_cast<std::byte*>(memory), bytes});
  });
}

plResult_t plBufferDeregister(void* memory) {
  return guarded(nullptr, [&] { return MemoryDomain::of_process().hand_back(memory); });
}

plResult_t plMemAlloc(void** ptr, size_t size) { return plBufferAlloc(ptr, size); }
plResult_t plMemFree(void* ptr) { return plBufferFree(ptr); }

plResult_t plCommRegister(plComm_t, void* buff, size_t size, void** handle) {
  if (handle == nullptr)
    return guarded(nullptr, [] { return invalid("the pointer for the handle is NULL"); });
  const plResult_t registered = plBufferRegister(buff, size);
  *handle = registered == plSuccess ? buff : nullptr;
  return registered;
}

plResult_t plCommDeregister(plComm_t, void* handle) { return plBufferDeregister(handle); }

plResult_t plBufferFree(void* buffer) {
  return guarded(nullptr, [&]() -> Status {
    if (buffer == nullptr) return {};
    return MemoryDomain::of_process().free(buffer);
  });
}
