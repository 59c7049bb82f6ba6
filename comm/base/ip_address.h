// An IPv4 or IPv6 address as a value, without a port.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

struct sockaddr;

namespace paceline {

class IpAddress {
 public:
  /// 0.0.0.0.
  IpAddress() = default;
  /// Numeric: "10.0.0.1", "fd00::1". Nothing where `text` is something else.
  static std::optional<IpAddress> parse(std::string_view text);
  /// Of a socket of the internet; nothing of any other. An IPv4 address that IPv6 carries
  /// (::ffff:10.0.0.1) is the IPv4 address.
  static std::optional<IpAddress> of(const sockaddr* address);

  bool is_v6() const { return v6_; }
  /// 127.0.0.0/8 or ::1.
  bool is_loopback() const;
  /// Bits of an address of its kind: 32 or 128.
  int bits() const { return v6_ ? 128 : 32; }
  /// In network byte order.
  std::span<const std::uint8_t> bytes() const {
    return std::span(bytes_).first(static_cast<std::size_t>(bits() / 8));
  }
  /// With all but the first `bits` cleared.
  IpAddress network(int bits) const;
  std::string to_string() const;

  auto operator<=>(const IpAddress&) const = default;

 private:
  bool v6_ = false;
  std::array<std::uint8_t, 16> bytes_{};  // an IPv4 address has the first four
};

}  // namespace paceline
