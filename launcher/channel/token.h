// Tokens by which peers over TLS prove that they may connect, and the names of such peers. Pure but
// for the random numbers.
#pragma once

#include <string>
#include <string_view>

#include <paceline/status.h>

namespace paceline::launcher {

/// 256 random bits in hexadecimal digits.
Result<std::string> make_token();

/// Takes the same time wherever they differ.
bool same_token(std::string_view a, std::string_view b);

/// "127.0.0.1:4000" for a socket's name of a peer as well as for gRPC's: ipv4:127.0.0.1:4000,
/// ipv6:%5B::1%5D:4000.
std::string plain_peer(std::string peer);

}  // namespace paceline::launcher
