// Both passes in vectors. Highway compiles this file once for each kind of processor.

// A processor without AVX2 takes the plain loops.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "collectives/gradient/codecs/magnitude_vectors.cc"
#include <hwy/foreach_target.h>
// foreach_target.h includes this file for each instruction set. The code below is compiled each
// time.
#include <hwy/highway.h>

#include "collectives/gradient/codecs/magnitudes.h"
#include "collectives/gradient/codecs/plain_magnitudes.h"

HWY_BEFORE_NAMESPACE();
namespace paceline::magnitudes::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

const MagnitudePasses& passes() { return plain_magnitude_passes(); }

#else

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using Bits = hn::RebindToSigned<D>;
constexpr std::size_t kLanes = hn::MaxLanes(D());
// Vectors that are looked at together.
constexpr std::size_t kAtOnce = 4;
constexpr std::size_t kBlock = kAtOnce * kLanes;

HWY_INLINE hn::Vec<D> load(const float* in, const float* residual, std::size_t i) {
  const auto value = hn::LoadU(D(), in + i);
  return residual == nullptr ? value : value + hn::LoadU(D(), residual + i);
}

HWY_INLINE hn::Vec<Bits> magnitudes(hn::Vec<D> value) {
  return hn::BitCast(Bits(), hn::Abs(value));
}

HWY_INLINE std::size_t sum_of(hn::Vec<Bits> counts) {
  alignas(64) std::int32_t lanes[kLanes];
  hn::Store(counts, Bits(), lanes);
  std::size_t sum = 0;
  for (const std::int32_t lane : lanes) sum += static_cast<std::size_t>(lane);
  return sum;
}

// A mask is -1 where it is set.
MagnitudeSurvey survey(const float* in, const float* residual, std::size_t count,
                       std::uint32_t least) {
  const auto bound = hn::Set(Bits(), static_cast<std::int32_t>(least));
  auto largest = hn::Zero(Bits()), above = hn::Zero(Bits()), equal = hn::Zero(Bits());
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const auto found = magnitudes(load(in, residual, i));
    largest = hn::Max(largest, found);
    above = above - hn::VecFromMask(Bits(), found > bound);
    equal = equal - hn::VecFromMask(Bits(), found == bound);
  }
  const std::int32_t most = hn::GetLane(hn::MaxOfLanes(Bits(), largest));
  MagnitudeSurvey all = {
      .largest = static_cast<std::uint32_t>(most), .above = sum_of(above), .equal = sum_of(equal)};
  plain_survey(in, residual, i, count, least, all);
  return all;
}

// The places of a block that are taken, the first of which is `first`.
std::uint32_t* take(const hn::Vec<Bits>* found, hn::Vec<Bits> below, std::size_t first,
                    MagnitudeCut& cut, std::uint32_t* places) {
  for (std::size_t k = 0; k < kAtOnce; ++k) {
    alignas(64) std::int32_t lanes[kLanes];
    hn::Store(found[k], Bits(), lanes);
    std::uint8_t bytes[8] = {};
    hn::StoreMaskBits(Bits(), found[k] > below, bytes);
    for (unsigned bits = bytes[0] | bytes[1] << 8U; bits != 0; bits &= bits - 1) {
      const auto lane = static_cast<std::size_t>(std::countr_zero(bits));
      if (static_cast<std::uint32_t>(lanes[lane]) == cut.least) {
        if (cut.equals == 0) continue;
        --cut.equals;
      }
      *places++ = static_cast<std::uint32_t>(first + k * kLanes + lane);
    }
  }
  return places;
}

// Few vectors have any: most are passed over four at a time. What equals the least magnitude is no
// longer looked for once there are enough.
void collect(const float* in, const float* residual, float* lost, std::size_t count,
             MagnitudeCut cut, std::uint32_t* places) {
  const auto least = hn::Set(Bits(), static_cast<std::int32_t>(cut.least));
  const auto just_below = least - hn::Set(Bits(), 1);
  std::size_t i = 0;
  for (; i + kBlock <= count; i += kBlock) {
    const auto below = cut.equals > 0 ? just_below : least;
    hn::Vec<Bits> found[kAtOnce];
    for (std::size_t k = 0; k < kAtOnce; ++k) {
      const std::size_t at = i + k * kLanes;
      const auto value = load(in, residual, at);
      if (lost != nullptr) hn::StoreU(value, D(), lost + at);
      found[k] = magnitudes(value);
    }
    const auto largest = hn::Max(hn::Max(found[0], found[1]), hn::Max(found[2], found[3]));
    if (!hn::AllFalse(Bits(), largest > below)) places = take(found, below, i, cut, places);
  }
  plain_collect(in, residual, lost, i, count, cut, places);
}

const MagnitudePasses& passes() {
  static constexpr MagnitudePasses kPasses = {.survey = &survey, .collect = &collect};
  return kPasses;
}

#endif  // HWY_TARGET

}  // namespace paceline::magnitudes::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace paceline {
namespace magnitudes {
namespace {

HWY_EXPORT(passes);
const MagnitudePasses& fastest_passes() { return HWY_DYNAMIC_DISPATCH(passes)(); }

}  // namespace
}  // namespace magnitudes

const MagnitudePasses& magnitude_passes() { return magnitudes::fastest_passes(); }

}  // namespace paceline
#endif  // HWY_ONCE
