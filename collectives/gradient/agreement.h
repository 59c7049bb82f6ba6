// Ranks agree before they make a pipeline: all must pass the same parameters and options, and each
// of them must be able to make it.
#pragma once

#include <cstdint>
#include <span>

#include <paceline/gradient_pipeline.h>
#include <paceline/group.h>
#include <paceline/status.h>

namespace paceline {

/// Goes to all ranks in one all-gather of kWords numbers each.
struct PipelineOffer {
  static constexpr std::size_t kWords = 4;

  std::uint64_t parameters = 0;  ///< digest
  std::uint64_t options = 0;     ///< digest
  std::uint64_t code = 0;        ///< why this rank cannot make it; 0: it can
  std::uint64_t by_library = 0;  ///< 1: a library may reduce its buckets in device memory
};
static_assert(sizeof(PipelineOffer) == PipelineOffer::kWords * sizeof(std::uint64_t));

/// `own`: why this rank cannot make the pipeline, or a success.
PipelineOffer offer_of(std::span<const Parameter> parameters, const GradientOptions& options,
                       const Status& own, bool by_library);

/// A success on all ranks, or an error on all ranks. Code::kMismatch if parameters or options
/// differ. It names a rank that cannot make its pipeline, or else the first one that differs from
/// rank 0. If they are equal, a rank that cannot make it returns `own`, and other ranks its code.
Status judge_offers(std::span<const PipelineOffer> offers, const Group& group, const Status& own);

/// A digest of both, for saved states.
std::uint64_t digest_of(std::span<const Parameter> parameters, const GradientOptions& options);

}  // namespace paceline
