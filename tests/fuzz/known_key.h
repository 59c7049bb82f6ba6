// A job key that every run of a fuzzer knows, so that it gets past the proof when it wants to.
#pragma once

#include <string>

#include <sys/mman.h>
#include <unistd.h>

#include "comm/base/assert.h"
#include "comm/job_key.h"

namespace paceline::fuzz {

inline JobKey make_known_key() {
  const std::string digits(2 * JobKey::kBytes, '7');
  const UniqueFd fd(::memfd_create("known-key", MFD_CLOEXEC));
  PACELINE_ASSERT(::write(fd.get(), digits.data(), digits.size()) ==
                  static_cast<ssize_t>(digits.size()));
  return JobKey::from_descriptor(fd.get()).value();
}

}  // namespace paceline::fuzz
