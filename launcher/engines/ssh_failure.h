// How an ssh that started no agent failed, by its messages. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

namespace paceline::launcher {

enum class SshFailure : std::uint8_t {
  kOther,    ///< another attempt would fail, too
  kNotUp,    ///< the host, or a jump host, does not accept connections: it may still boot
  kDropped,  ///< the server closed the connection before authentication, as by MaxStartups
};

/// `lines`: standard error of ssh, or of a program that calls it.
SshFailure ssh_failure(const std::deque<std::string>& lines);

}  // namespace paceline::launcher
