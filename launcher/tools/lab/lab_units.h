// Rates, delays and shares as people write them. Pure; an error quotes the text and says what it
// should have been.
#pragma once

#include <cstdint>
#include <string>

#include <paceline/status.h>

#include "comm/base/clock.h"

namespace paceline::launcher {

/// "1gbit", "300mbit", "1.5gbit", "64kbit": bits per second, with the factors of tc(8).
Result<std::int64_t> parse_bit_rate(const std::string& text);
/// The same way; "no limit" for 0.
std::string bit_rate_text(std::int64_t rate_bits);

/// "200us", "5ms", "1s": at most a minute.
Result<Duration> parse_delay(const std::string& text);
std::string delay_text(Duration delay);

/// "30" or "0.5" or "30%", from 0 to 100, in thousandths of a percent.
Result<int> parse_loss(const std::string& text);

/// Bytes of a packet, from 68 (the least of IPv4, RFC 791) to a full Ethernet frame's.
Result<int> parse_mtu(const std::string& text);

/// How many CPUs' worth of time: "0.5", "2"; in thousandths.
Result<int> parse_cpus(const std::string& text);

}  // namespace paceline::launcher
