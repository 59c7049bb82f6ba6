// Runs a test body as on each kind of processor whose vectors this one has, and without vectors.
#pragma once

#include <cstdint>
#include <string>

#include <gtest/gtest.h>
#include <hwy/highway.h>

namespace paceline {

/// What is dispatched while the body runs takes the vectors of one kind of processor; what has been
/// kept of earlier dispatches does not.
template <class Body>
void for_each_target(const Body& body) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(std::string("as on ") + hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    body();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace paceline
