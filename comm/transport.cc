#include "comm/transport.h"

#include <string>

namespace paceline {

Status length_mismatch(std::size_t expected, std::size_t came) {
  return Status(Code::kMismatch, Scope::kGroup,
                "received a message of " + std::to_string(came) + " bytes, expected " +
                    std::to_string(expected));
}

}  // namespace paceline
