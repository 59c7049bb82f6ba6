#include "launcher/channel/deflated_text.h"

namespace paceline::launcher {

std::string deflated(const std::string& text) {
  uLongf size = ::compressBound(text.size());
  std::string bytes(size, '\0');
  // Enough room is there, and nothing else can fail but memory.
  ::compress(reinterpret_cast<Bytef*>(bytes.data()), &size,
             reinterpret_cast<const Bytef*>(text.data()), text.size());
  bytes.resize(size);
  return bytes;
}

}  // namespace paceline::launcher
