#include "launcher/connectivity/half_open.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>

#include <netinet/in.h>

namespace paceline::launcher {
namespace {

constexpr std::string_view kSynReceived = "03";
constexpr std::size_t kWordDigits = 8;
constexpr std::size_t kMost = 256;

std::optional<std::uint32_t> hexadecimal(std::string_view digits) {
  std::uint32_t value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  return error == std::errc() && end == digits.data() + digits.size() ? std::optional(value)
                                                                      : std::nullopt;
}

// The words of the address, each as this machine's memory has it: "0100007F" is 127.0.0.1.
std::optional<IpAddress> address_of(std::string_view digits) {
  std::array<std::uint32_t, 4> words{};
  if (digits.size() != kWordDigits && digits.size() != words.size() * kWordDigits)
    return std::nullopt;
  for (std::size_t i = 0; i < digits.size() / kWordDigits; ++i) {
    const auto word = hexadecimal(digits.substr(i * kWordDigits, kWordDigits));
    if (!word) return std::nullopt;
    words[i] = *word;
  }
  sockaddr_in6 in6{.sin6_family = AF_INET6};
  sockaddr_in in{.sin_family = AF_INET};
  std::memcpy(&in6.sin6_addr, words.data(), sizeof in6.sin6_addr);
  std::memcpy(&in.sin_addr, words.data(), sizeof in.sin_addr);
  return digits.size() == kWordDigits ? IpAddress::of(reinterpret_cast<const sockaddr*>(&in))
                                      : IpAddress::of(reinterpret_cast<const sockaddr*>(&in6));
}

}  // namespace

std::vector<IpAddress> half_open_in(std::string_view table, int port) {
  std::vector<IpAddress> found;
  std::istringstream lines{std::string(table)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string number, local, remote, state;
    if (!(words >> number >> local >> remote >> state) || state != kSynReceived) continue;
    const auto at = hexadecimal(std::string_view(local).substr(local.find(':') + 1));
    if (!at || *at != static_cast<std::uint32_t>(port)) continue;
    const auto address = address_of(std::string_view(remote).substr(0, remote.find(':')));
    if (address) found.push_back(*address);
  }
  return found;
}

std::set<IpAddress> half_open_at(int port) {
  std::set<IpAddress> all;
  for (const char* path : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
    std::ifstream file(path);
    const std::string table{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    for (const IpAddress& address : half_open_in(table, port))
      if (all.size() < kMost) all.insert(address);
  }
  return all;
}

}  // namespace paceline::launcher
