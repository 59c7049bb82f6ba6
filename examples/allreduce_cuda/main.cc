// Sums an array over all ranks, in the memory of GPUs and in the order of a stream.
//
//   paceline run -n 2 -- allreduce_cuda
//
// Rank K of a host takes device K: the launcher orders CUDA_VISIBLE_DEVICES for that.

#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime_api.h>

#include <paceline/communicator.h>

namespace {

constexpr std::size_t kCount = 1 << 22;
constexpr std::size_t kBytes = kCount * sizeof(float);
constexpr int kSteps = 10;

void check(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(result));
  std::exit(1);
}

}  // namespace

int main() {
  int gpus = 0;
  const char* const local_rank = std::getenv("LOCAL_RANK");
  check(cudaGetDeviceCount(&gpus), "cudaGetDeviceCount");
  check(cudaSetDevice(local_rank != nullptr ? std::atoi(local_rank) % gpus : 0), "cudaSetDevice");
  paceline::Communicator world = paceline::Communicator::init().value();

  float* gradient = nullptr;
  cudaStream_t stream = nullptr;
  check(cudaMalloc(reinterpret_cast<void**>(&gradient), kBytes), "cudaMalloc");
  check(cudaStreamCreate(&stream), "cudaStreamCreate");
  world.set_stream(stream);

  std::vector<float> ones(kCount, 1.0f);
  std::vector<float> sum(kCount);
  for (int step = 0; step < kSteps; ++step) {
    // A trainer launches its backward kernels here.
    check(cudaMemcpyAsync(gradient, ones.data(), kBytes, cudaMemcpyDefault, stream), "copy");
    const paceline::Work work =
        world.all_reduce_async(gradient, gradient, kCount, paceline::DataType::kFloat32);
    work.wait_on(stream).value();
    // A trainer launches its update here: the stream waits for the sum, the CPU does not.
    check(cudaMemcpyAsync(sum.data(), gradient, kBytes, cudaMemcpyDefault, stream), "copy");
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    for (const float element : sum) {
      if (element == static_cast<float>(world.size())) continue;
      std::fprintf(stderr, "rank %d: %g instead of %d\n", world.rank(), element, world.size());
      return 1;
    }
  }
  world.close().value();
  if (world.rank() == 0)
    std::printf("%d sums of %zu floats on %d ranks are right\n", kSteps, kCount, world.size());
  check(cudaStreamDestroy(stream), "cudaStreamDestroy");
  check(cudaFree(gradient), "cudaFree");
}
