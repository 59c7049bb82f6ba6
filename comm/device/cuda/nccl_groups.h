// Groups of devices by NCCL.
#pragma once

#include "comm/device/cuda/nccl_calls.h"
#include "comm/device/device_group.h"

namespace paceline::cuda {

class NcclGroups final : public DeviceGroups {
 public:
  explicit NcclGroups(const NcclCalls& calls) : calls_(calls) {}

  std::string name() const override;
  std::uint32_t version() const override;
  bool serves(DataType type) const override;
  paceline::Result<DeviceGroupId> make_id() override;
  paceline::Result<std::unique_ptr<DeviceGroup>> join(Device& device, const DeviceGroupId& id,
                                                      int rank, int ranks) override;

 private:
  const NcclCalls calls_;
};

}  // namespace paceline::cuda
