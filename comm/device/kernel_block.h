// How kernels are written: a function template over the block in which it runs. Tests run the same
// source on a CPU, in CpuBlock.
//
//   template <class Block>
//   PACELINE_KERNEL void count_zeros(const Block& block, CountArguments from, Shared& shared) {
//     block.each(kKernelLanes, [&](unsigned lane) { shared.zeros[lane] = …; });
//     block.each(1, [&](unsigned) { from.counts[block.number()] = …; });
//   }
//
// each() calls the function for so many lanes. They run together, or one after another, so a lane
// uses what others have written only after the each() in which they wrote it. `Shared` is memory of
// the block. Kernels call no functions of the C++ library but constexpr ones. They are compiled
// without contraction of a product and a sum (nvcc -fmad=false), so that they have the bits of a
// CPU.
//
// Source: CUDA C++ Programming Guide, "Thread Hierarchy", "Synchronization Functions".
#pragma once

namespace paceline {

inline constexpr unsigned kKernelLanes = 256;

#ifdef __CUDACC__

#define PACELINE_KERNEL __device__ inline

class DeviceBlock {
 public:
  PACELINE_KERNEL unsigned number() const { return blockIdx.x; }
  PACELINE_KERNEL unsigned blocks() const { return gridDim.x; }
  template <class Function>
  PACELINE_KERNEL void each(unsigned lanes, const Function& function) const {
    if (threadIdx.x < lanes) function(threadIdx.x);
    __syncthreads();
  }
};

#else

#define PACELINE_KERNEL inline

class CpuBlock {
 public:
  CpuBlock(unsigned number, unsigned blocks) : number_(number), blocks_(blocks) {}

  unsigned number() const { return number_; }
  unsigned blocks() const { return blocks_; }
  template <class Function>
  void each(unsigned lanes, const Function& function) const {
    for (unsigned lane = 0; lane < lanes; ++lane) function(lane);
  }

 private:
  unsigned number_, blocks_;
};

#endif

}  // namespace paceline
