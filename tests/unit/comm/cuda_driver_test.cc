// The driver's calls as the module declares them, against the headers of a CUDA toolkit. Two calls
// agree if each parameter has the same size, and is a pointer in both or in none.
#include "comm/device/cuda/cuda_driver.h"

#include <cstddef>

#include <cuda.h>
#include <gtest/gtest.h>

#include "tests/unit/comm/like_calls.h"

namespace paceline::cuda {
namespace {

using testing::are_alike;

TEST(CudaDriver, CallsAgreeWithTheHeaders) {
  const Driver ours;
#define PACELINE_CUDA_COMPARE(symbol, member, parameters) \
  EXPECT_TRUE(are_alike(ours.member, static_cast<decltype(&::symbol)>(nullptr))) << #symbol;
  PACELINE_CUDA_CALLS(PACELINE_CUDA_COMPARE)
#undef PACELINE_CUDA_COMPARE
}

TEST(CudaDriver, ConstantsAgreeWithTheHeaders) {
  EXPECT_EQ(kSuccess, CUDA_SUCCESS);
  EXPECT_EQ(kInvalidValue, CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(kNotInitialized, CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(kDeinitialized, CUDA_ERROR_DEINITIALIZED);
  EXPECT_EQ(kNoDevice, CUDA_ERROR_NO_DEVICE);
  EXPECT_EQ(kInvalidContext, CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(kNotReady, CUDA_ERROR_NOT_READY);
  EXPECT_EQ(kCaptureIsImplicit, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  EXPECT_EQ(kPointerContext, CU_POINTER_ATTRIBUTE_CONTEXT);
  EXPECT_EQ(kPointerMemoryType, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
  EXPECT_EQ(kPointerIsManaged, CU_POINTER_ATTRIBUTE_IS_MANAGED);
  EXPECT_EQ(kPointerDeviceOrdinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
  EXPECT_EQ(kMemoryTypeDevice, static_cast<unsigned>(CU_MEMORYTYPE_DEVICE));
  EXPECT_EQ(kCaptureModeRelaxed, static_cast<int>(CU_STREAM_CAPTURE_MODE_RELAXED));
  EXPECT_EQ(kStreamNonBlocking, static_cast<unsigned>(CU_STREAM_NON_BLOCKING));
  EXPECT_EQ(kEventDisableTiming, static_cast<unsigned>(CU_EVENT_DISABLE_TIMING));
  EXPECT_EQ(kHostRegisterPortable, static_cast<unsigned>(CU_MEMHOSTREGISTER_PORTABLE));
}

}  // namespace
}  // namespace paceline::cuda
