#include "comm/device/cuda/cuda_driver.h"

#include <dlfcn.h>

namespace paceline::cuda {
namespace {

template <class Function>
bool find(void* library, const char* symbol, Function& function, std::string& why) {
  function = reinterpret_cast<Function>(::dlsym(library, symbol));
  if (function == nullptr) why = std::string("libcuda.so.1 has no ") + symbol;
  return function != nullptr;
}

}  // namespace

bool Driver::load(std::string& why) {
  void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) {
    why = "this process has not loaded libcuda.so.1";
    return false;
  }
#define PACELINE_CUDA_FIND(symbol, member, parameters) \
  if (!find(library, #symbol, member, why)) return false;
  PACELINE_CUDA_CALLS(PACELINE_CUDA_FIND)
#undef PACELINE_CUDA_FIND
  return true;
}

}  // namespace paceline::cuda
