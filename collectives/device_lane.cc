#include "collectives/device_lane.h"

namespace paceline {

std::string call_text(const Signature& signature) {
  const std::string text = signature.to_string();
  const std::size_t end = text.find(')');
  return end != std::string::npos ? text.substr(0, end + 1) : text.substr(0, text.find(' '));
}

}  // namespace paceline
