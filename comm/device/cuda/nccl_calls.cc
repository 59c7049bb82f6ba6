#include "comm/device/cuda/nccl_calls.h"

#include <dlfcn.h>

namespace paceline::cuda {
namespace {

template <class Function>
bool find(void* library, const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, symbol));
  return function != nullptr;
}

// Where the version is old, its number says more than the name of what it lacks.
std::string what_lacks(void* library, const char* symbol) {
  std::string text = "libnccl.so.2 has no " + std::string(symbol);
  NcclResult (*version_of)(int*) = nullptr;
  int version = 0;
  if (find(library, "ncclGetVersion", version_of) && version_of(&version) == kNcclSuccess)
    text += ", and is version code " + std::to_string(version);
  return text + "; NCCL 2.14 or later is needed";
}

}  // namespace

bool NcclCalls::load(std::string& why) {
  void* library = ::dlopen("libnccl.so.2", RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) library = ::dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    why = ::dlerror();
    return false;
  }
#define PACELINE_NCCL_FIND(symbol, member, parameters) \
  if (!find(library, #symbol, member)) {               \
    why = what_lacks(library, #symbol);                \
    return false;                                      \
  }
  PACELINE_NCCL_CALLS(PACELINE_NCCL_FIND)
#undef PACELINE_NCCL_FIND
  if (!find(library, "ncclGetErrorString", error_string)) {
    why = what_lacks(library, "ncclGetErrorString");
    return false;
  }
  (void)find(library, "ncclGetLastError", last_error);
  (void)find(library, "ncclCommRevoke", revoke);
  return true;
}

}  // namespace paceline::cuda
