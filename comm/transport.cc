#include "comm/transport.h"

#include <string>

namespace paceline {

Status length_mismatch(std::size_t expected, std::size_t came) {
  return Status(Code::kMismatch, Scope::kGroup,
                "a message of " + std::to_string(came) + " bytes came where " +
                    std::to_string(expected) + " were expected");
}

}  // namespace paceline
