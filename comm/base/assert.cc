#include "comm/base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace paceline {

void assertion_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "paceline: internal error: assertion failed: %s (%s:%d)\n", condition, file,
               line);
  std::abort();
}

}  // namespace paceline
