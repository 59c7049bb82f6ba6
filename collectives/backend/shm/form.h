// What the flag protocol knows of an operation, the flag that tells it to others, and what a step
// comes to.
#pragma once

#include <cstdint>

namespace paceline::shm {

/// How what all contribute becomes results.
enum class Flow : std::uint8_t {
  kShared,    ///< one result: each rank makes a part of it for all
  kFromRoot,  ///< all results are what the root contributes
  kToEach,    ///< each rank's result is another
};

/// The form of one operation. Equal on all ranks that agree.
struct Form {
  bool everybody = true;  ///< every rank has to come; otherwise the root alone
  int root = 0;
  std::uint64_t chunks = 0;  ///< 0: what there is to carry lies in the call itself
  std::uint32_t digest = 0;  ///< of all that must agree
  bool gathered = false;     ///< the last to arrive meets everybody for all
  Flow flow = Flow::kShared;
  /// Of one that is made directly: results are alike, and each piece is made for all, once. Else
  /// each rank makes its own.
  bool for_all = true;

  bool operator==(const Form&) const = default;
};

/// The flag of a call. Its lower half tells calls apart that share a place in the ring.
inline std::uint64_t flag_of(std::uint64_t operation, std::uint32_t digest) {
  return std::uint64_t{digest} << 32 | static_cast<std::uint32_t>(operation + 1);
}

/// What a step has come to.
enum class Progress : std::uint8_t {
  kMoved,    ///< there is more to do at once
  kWaits,    ///< for somebody
  kDiffers,  ///< who is waited for has called something else, and has explained what
  kEnded,
};

}  // namespace paceline::shm
