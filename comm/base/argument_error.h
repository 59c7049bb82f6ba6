// The error of a call whose arguments cannot be: nothing has begun, and nothing suffers.
#pragma once

#include <string>
#include <utility>

#include <paceline/status.h>

namespace paceline {

// Apart from their callers, which all operations pass through.
[[gnu::cold, gnu::noinline]] inline Status argument_error(std::string what) {
  return {Code::kInvalidArgument, Scope::kOperation, std::move(what)};
}
[[gnu::cold, gnu::noinline]] inline Status argument_error(const char* what) {
  return argument_error(std::string(what));
}

}  // namespace paceline
