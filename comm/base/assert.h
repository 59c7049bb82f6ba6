// Asserts for our own bugs, on in every build. Bytes from a peer, a file or a user never trip one:
// those return a Status.
#pragma once

namespace paceline {

[[noreturn]] void assertion_failed(const char* condition, const char* file, int line);

}  // namespace paceline

#define PACELINE_ASSERT(condition) \
  ((condition) ? void(0) : ::paceline::assertion_failed(#condition, __FILE__, __LINE__))
