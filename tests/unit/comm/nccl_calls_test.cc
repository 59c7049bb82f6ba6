// NCCL's calls as the module declares them, against its header.
#include "comm/device/cuda/nccl_calls.h"

#include <cstddef>

#include <gtest/gtest.h>
#include <nccl.h>

#include "tests/unit/comm/like_calls.h"

namespace paceline::cuda {
namespace {

using testing::are_alike;

TEST(NcclCalls, AgreeWithTheHeader) {
  const NcclCalls ours;
#define PACELINE_NCCL_COMPARE(symbol, member, parameters) \
  EXPECT_TRUE(are_alike(ours.member, static_cast<decltype(&::symbol)>(nullptr))) << #symbol;
  PACELINE_NCCL_CALLS(PACELINE_NCCL_COMPARE)
#undef PACELINE_NCCL_COMPARE
  EXPECT_TRUE(are_alike(ours.revoke, static_cast<decltype(&::ncclCommRevoke)>(nullptr)));
}

TEST(NcclCalls, ConstantsAgreeWithTheHeader) {
  EXPECT_EQ(kNcclSuccess, ncclSuccess);
  EXPECT_EQ(kNcclUnhandledCudaError, ncclUnhandledCudaError);
  EXPECT_EQ(kNcclSystemError, ncclSystemError);
  EXPECT_EQ(kNcclInternalError, ncclInternalError);
  EXPECT_EQ(kNcclInvalidArgument, ncclInvalidArgument);
  EXPECT_EQ(kNcclInvalidUsage, ncclInvalidUsage);
  EXPECT_EQ(kNcclRemoteError, ncclRemoteError);
  EXPECT_EQ(kNcclInProgress, ncclInProgress);
  EXPECT_EQ(kNcclScalarHostImmediate, ncclScalarHostImmediate);
  EXPECT_EQ(sizeof(NcclId), sizeof(ncclUniqueId));
}

// The first fields, which NCCL takes from a config of an earlier version.
TEST(NcclCalls, TheConfigIsABeginningOfNccls) {
  const ncclConfig_t theirs = NCCL_CONFIG_INITIALIZER;
  const NcclConfig ours;
  EXPECT_EQ(ours.magic, theirs.magic);
  EXPECT_LT(ours.size, theirs.size);
  EXPECT_EQ(offsetof(NcclConfig, magic), offsetof(ncclConfig_t, magic));
  EXPECT_EQ(offsetof(NcclConfig, version), offsetof(ncclConfig_t, version));
  EXPECT_EQ(offsetof(NcclConfig, blocking), offsetof(ncclConfig_t, blocking));
  EXPECT_EQ(offsetof(NcclConfig, unused), offsetof(ncclConfig_t, cgaClusterSize));
  EXPECT_EQ(ours.unused, NCCL_CONFIG_UNDEF_INT);
}

}  // namespace
}  // namespace paceline::cuda
