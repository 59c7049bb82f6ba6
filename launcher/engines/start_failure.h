// How a program that started no agent failed, by its messages. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

namespace paceline::launcher {

enum class StartFailure : std::uint8_t {
  kOther,    ///< another attempt would fail, too
  kNotUp,    ///< ssh: the host, or a jump host, does not accept connections: it may still boot
  kDropped,  ///< ssh: the server closed the connection before authentication, as by MaxStartups
  kClash,    ///< mpirun: no folder for its session; another mpirun may just have removed it
};

/// `lines`: standard error of ssh or mpirun, or of a program that calls one.
StartFailure start_failure(const std::deque<std::string>& lines);

}  // namespace paceline::launcher
