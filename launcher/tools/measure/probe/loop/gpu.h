// Memory of a GPU for the arrays that are measured. The program links nothing of CUDA: the calls
// are found in libcuda.so.1 (CUDA Driver API).
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <paceline/status.h>

namespace paceline::probe {

class Gpu final {
 public:
  /// Loads the driver, and makes GPU `number` the current one of this thread, as cudaSetDevice()
  /// does. If there are fewer, they are counted again from 0. Code::kUnavailable: the driver or a
  /// GPU is missing.
  static Result<std::unique_ptr<Gpu>> choose(int number);
  /// Frees the memory.
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  Result<std::byte*> allocate(std::size_t bytes);
  // Return when the copy has ended.
  Status write(void* to, const void* from, std::size_t bytes);
  Status read(void* to, const void* from, std::size_t bytes);

 private:
  struct Calls;
  explicit Gpu(std::unique_ptr<Calls> calls);

  const std::unique_ptr<Calls> calls_;
  std::vector<std::byte*> memory_;
};

}  // namespace paceline::probe
