#include "launcher/channel/token.h"

#include <array>
#include <cstddef>

#include <openssl/crypto.h>

#include "comm/base/random.h"
#include "comm/base/text.h"
#include "comm/base/try.h"

namespace paceline::launcher {
namespace {

constexpr std::size_t kTokenBytes = 32;

}  // namespace

Result<std::string> make_token() {
  std::array<std::byte, kTokenBytes> bytes;
  PACELINE_TRY(fill_system_random(bytes));
  return to_hexadecimal(bytes);
}

bool same_token(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string plain_peer(std::string peer) {
  for (const std::string_view noise : {"ipv4:", "ipv6:", "%5B", "%5D", "[", "]", "::ffff:"}) {
    if (const std::size_t at = peer.find(noise); at != std::string::npos)
      peer.erase(at, noise.size());
  }
  return peer;
}

}  // namespace paceline::launcher
