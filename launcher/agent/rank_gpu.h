// Which GPU of its host a rank uses, by what it is told. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "comm/base/function_ref.h"
#include "launcher/agent/gpu_watch.h"
#include "launcher/channel/messages.pb.h"

namespace paceline::launcher {

/// A GPU as CUDA_VISIBLE_DEVICES names it.
struct VisibleGpu {
  std::string word;                ///< "3", "GPU-5a1f"; empty: nothing names one
  bool counts_by_address = false;  ///< as NVML does, and not by speed

  bool operator==(const VisibleGpu&) const = default;
};

/// Device LOCAL_RANK of the rank's list, by the convention of torchrun and of the placement, or the
/// only device. `inherited` looks up a variable of the agent's own environment.
VisibleGpu visible_gpu(const messages::Start& start, int local_rank,
                       FunctionRef<const char*(const char*)> inherited);

/// Its number among `gpus`. None: it is not known, as for a part of a GPU (MIG), or where CUDA
/// counts different GPUs by their speed.
std::optional<std::uint32_t> number_of(const VisibleGpu& gpu, const GpuWatch::Gpus& gpus);

}  // namespace paceline::launcher
